internal import Atto
import Foundation

/// A central's read or write of a value that the app has. Each read, and the first of each batch
/// of writes, is answered once with `CBPeripheralManager.respond(to:withResult:)`.
open class CBATTRequest: NSObject {
  private let from: CBCentral
  private let target: CBCharacteristic
  private let start: Int
  private let content: Guarded<Data?>
  /// What the answer is given to.
  let question: PendingQuestion

  init(
    central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?,
    question: PendingQuestion
  ) {
    from = central
    target = characteristic
    start = offset
    content = Guarded(value)
    self.question = question
    super.init()
  }

  /// Who asks.
  open var central: CBCentral { from }
  /// What is asked for.
  open var characteristic: CBCharacteristic { target }
  /// Of the first octet that is read or written.
  open var offset: Int { start }
  /// What is written. For a read set by the app: the value from the offset on.
  open var value: Data? {
    get { content.value }
    set { content.value = newValue }
  }
}
