internal import Atto
import Foundation

/// A central that is connected to us and has asked for something.
open class CBCentral: CBPeer {
  let client: ClientID
  private let mtu: Guarded<Int>
  /// Characteristics whose last message to it was not sent to its end.
  let cutMessages = Guarded<Set<ObjectIdentifier>>([])

  init(_ client: ClientID, identifier: UUID, mtu: Int) {
    self.client = client
    self.mtu = Guarded(mtu)
    super.init(identifier: identifier)
  }

  /// What `updateValue` can send it at once: ATT_MTU - 3, and 512 octets at most, since no value
  /// is longer. The rest would be cut.
  open var maximumUpdateValueLength: Int { min(512, mtu.value - 3) }

  func set(mtu new: Int) { mtu.value = new }

  open override var description: String {
    "<CBCentral: identifier = \(identifier.uuidString), MTU = \(mtu.value)>"
  }
}
