internal import Atto
import Foundation

/// The number by which an L2CAP channel is found: 0x0080 to 0x00FF for Bluetooth LE.
public typealias CBL2CAPPSM = UInt16

/// A channel of octets beside ATT, with flow control in both directions. Vol 3, Part A, 10.1.
///
/// Both streams are to be opened. Their delegates are told of events in the run loops in which the
/// streams are scheduled, which must run; without that `read` and `write` wait, on any thread but
/// the one that would have to serve them. The channel ends when both streams are closed or
/// released (what was written before is sent first, for ten seconds at most), when the other end
/// closes it or unpublishes its PSM, and with the connection.
open class CBL2CAPChannel: NSObject {
  private let other: CBPeer
  private let streams: (input: InputStream, output: OutputStream)
  private let number: CBL2CAPPSM
  /// What lies between the channel and the streams, which hold it too.
  let pipe: ChannelPipe

  /// On any thread.
  init(peer: CBPeer, _ channel: Channel) {
    let pipe = ChannelPipe(channel)
    other = peer
    streams = (ChannelInputStream(pipe), ChannelOutputStream(pipe))
    number = channel.psm
    self.pipe = pipe
    super.init()
    RadioLoop.later { pipe.start() }
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
