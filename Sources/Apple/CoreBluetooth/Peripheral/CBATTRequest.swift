internal import Atto
import Foundation

/// A central's request to read or write a value. The app answers each read, and each batch of writes
/// with its first request, once with `CBPeripheralManager.respond(to:withResult:)`.
open class CBATTRequest: NSObject {
  /// The central that sent the request.
  open private(set) var central: CBCentral
  /// The characteristic to read or write.
  open private(set) var characteristic: CBCharacteristic
  /// The offset of the first octet to read or write.
  open private(set) var offset: Int
  private let content: Locked<Data?>
  let pending: PendingRequest

  init(
    central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?,
    pending: PendingRequest
  ) {
    self.central = central
    self.characteristic = characteristic
    self.offset = offset
    content = Locked(value)
    self.pending = pending
    super.init()
  }

  /// The value to write. For a read, the app sets the value from the offset on.
  open var value: Data? {
    get { content.value }
    set { content.value = newValue }
  }
}
