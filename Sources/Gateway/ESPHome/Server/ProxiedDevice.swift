import AttoATT
import AttoGateway
import AttoLinks

/// A device as one client uses it. The loop's thread only.
///
/// # Theory
///     connecting --link--> connected --its end, the client's wish--> gone
///         '-----no link, the client's wish-----------------------------'
///
/// Requests wait here and are carried out one after the other, in the order of their arrival. The client
/// is told of the end of the link once; requests that waited then are not answered, since clients take
/// the end for the answer to all of them.
final class ProxiedDevice {
  let address: BluetoothAddress
  let use: DeviceUse
  var isConnected = false
  /// Makes the link, then passes on what happens.
  var following: Task<Void, Never>?
  /// Carries out the requests.
  var working: Task<Void, Never>?
  var waiting: [Request] = []
  /// Removes the bond. The kernel ends the link before it answers.
  var unpairing: Task<Void, Never>?
  /// The characteristics whose values the client wants.
  var notifying: Set<UInt16> = []

  /// A request that needs the device.
  enum Request {
    case attribute(AttributeRequest)
    case pair
    case parameters(minimum: UInt16, maximum: UInt16, latency: UInt16, timeout: UInt16)
  }

  init(_ address: BluetoothAddress, _ use: DeviceUse) {
    self.address = address
    self.use = use
  }

  /// Ends the use: the link is closed if nobody else wants it.
  func release() {
    following?.cancel()
    working?.cancel()
    waiting = []
    use.release()
  }
}
