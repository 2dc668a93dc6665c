internal import Atto
import Foundation

/// The common part of central and peripheral managers: the state of the radio.
open class CBManager: NSObject {
  let choice: CBRadio
  /// The state as the app sees it: it changes on the app's queue, before the callback.
  let shown = Locked(CBManagerState.unknown)

  init(choice: CBRadio) {
    self.choice = choice
    super.init()
  }

  /// The state of the radio; `unknown` until the first `...DidUpdateState`.
  open var state: CBManagerState { shown.value }
  /// Whether this process may use the radio.
  open var authorization: CBManagerAuthorization { choice.authorization }
  /// Whether this process may use the radio that `ATTO_RADIO` names.
  open class var authorization: CBManagerAuthorization { CBRadio.usual.authorization }

  /// Whether commands are accepted; logs a warning if not.
  func acceptsCommands() -> Bool {
    if state == .poweredOn { return true }
    // Apple's wording, so that a search finds what others have written about it.
    Warning.log(
      "API MISUSE: \(type(of: self)) can only accept this command while in the powered on state")
    return false
  }
}
