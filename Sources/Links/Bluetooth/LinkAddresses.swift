/// The two ends of a link between radios.
public struct LinkAddresses: Hashable, Sendable {
  /// This end's adapter.
  public let own: BluetoothAddress
  /// The other end.
  public let peer: BluetoothAddress

  /// One with these values; its properties say what each means.
  public init(own: BluetoothAddress, peer: BluetoothAddress) {
    self.own = own
    self.peer = peer
  }
}

/// A link whose ends have addresses by which they are found again: what bonds hang on.
public protocol AddressedLink: Link {
  /// Identity addresses where they are known; nil where the ends have none, and after the end.
  /// May cost a system call.
  var addresses: LinkAddresses? { get }
}
