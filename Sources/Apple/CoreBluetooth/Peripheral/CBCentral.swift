internal import Atto
import Foundation

/// A connected central that has sent a request.
open class CBCentral: CBPeer {
  let client: ClientID
  let mtu: Locked<Int>
  /// Characteristics over which a message to this central was cut short.
  let cutMessages = Locked<Set<ObjectIdentifier>>([])

  init(_ client: ClientID, identifier: UUID, mtu: Int) {
    self.client = client
    self.mtu = Locked(mtu)
    super.init(identifier: identifier)
  }

  /// The longest value that `updateValue` can send to this central: ATT_MTU - 3, and at most 512
  /// octets. Longer values are truncated.
  open var maximumUpdateValueLength: Int { min(512, mtu.value - 3) }

  open override var description: String {
    "<CBCentral: identifier = \(identifier.uuidString), MTU = \(mtu.value)>"
  }
}
