internal import Atto
import AttoRadio
import Foundation

/// The PSM of an L2CAP channel: 0x0080 to 0x00FF for Bluetooth LE.
public typealias CBL2CAPPSM = UInt16

/// An L2CAP channel: octets beside ATT, with flow control in both directions. Vol 3, Part A, 10.1.
///
/// The app opens both streams. It schedules them in a run loop that runs, which calls their
/// delegates; or it calls `read` and `write`, which block, on a thread of its own. The channel ends
/// when both streams are closed or released (written data is sent first, for up to ten seconds), when
/// the other end closes it or unpublishes its PSM, and with the connection.
open class CBL2CAPChannel: NSObject {
  /// The other end.
  open private(set) var peer: CBPeer!
  /// The data from the other end. The app opens and reads it.
  open private(set) var inputStream: InputStream!
  /// The data to the other end. The app opens and writes it.
  open private(set) var outputStream: OutputStream!
  /// The PSM of the channel.
  open private(set) var psm: CBL2CAPPSM
  /// The buffers between the channel and the streams.
  let pipe: ChannelPipe

  /// May be called on any thread.
  init(peer: CBPeer, _ channel: Channel) {
    pipe = ChannelPipe(channel)
    self.peer = peer
    inputStream = ChannelInputStream(pipe)
    outputStream = ChannelOutputStream(pipe)
    psm = channel.psm
    super.init()
    RadioLoop.later { [pipe] in pipe.start() }
  }
}
