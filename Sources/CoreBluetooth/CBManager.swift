internal import Atto
import Foundation

/// What central and peripheral managers have in common: the state of the radio.
open class CBManager: NSObject {
  let queue: CallbackQueue
  let choice: CBRadio
  /// As the app sees it: changed on its queue, before it is told.
  let shown = Guarded(CBManagerState.unknown)

  init(queue: CallbackQueue, choice: CBRadio) {
    self.queue = queue
    self.choice = choice
    super.init()
  }

  /// The state of the radio; `unknown` until the delegate was first told.
  open var state: CBManagerState { shown.value }
  /// Whether this process may use the radio.
  open var authorization: CBManagerAuthorization { choice.authorization }
  /// Whether this process may use the radio that `ATTO_RADIO` names.
  open class var authorization: CBManagerAuthorization { CBRadio.usual.authorization }

  /// Whether commands are accepted; tells the developer if not.
  func acceptsCommands() -> Bool {
    if state == .poweredOn { return true }
    Misuse.notPoweredOn(self)
    return false
  }
}
