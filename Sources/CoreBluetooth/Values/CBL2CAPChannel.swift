import Foundation

/// The number by which an L2CAP channel is found: 0x0080 to 0x00FF for Bluetooth LE.
public typealias CBL2CAPPSM = UInt16

/// A channel of octets beside ATT. Vol 3, Part A, 4.22.
open class CBL2CAPChannel: NSObject {
  private let other: CBPeer
  private let streams: (input: InputStream, output: OutputStream)
  private let number: CBL2CAPPSM

  init(peer: CBPeer, input: InputStream, output: OutputStream, psm: CBL2CAPPSM) {
    other = peer
    streams = (input, output)
    number = psm
    super.init()
  }

  /// The other end.
  open var peer: CBPeer! { other }
  /// What the other end sends. To be opened, and read, by the app.
  open var inputStream: InputStream! { streams.input }
  /// What is sent to the other end. To be opened by the app.
  open var outputStream: OutputStream! { streams.output }
  /// The PSM at which it was opened.
  open var psm: CBL2CAPPSM { number }
}
