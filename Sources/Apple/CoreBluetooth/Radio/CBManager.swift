internal import Atto
import Foundation

/// The common part of central and peripheral managers: the state of the radio.
open class CBManager: NSObject {
  let choice: CBRadio
  let slot = Locked(DelegateSlot())
  let observers = ObserverList()

  init(choice: CBRadio) {
    self.choice = choice
    super.init()
  }

  /// The state of the radio; `unknown` until the first `...DidUpdateState`.
  open var state: CBManagerState { slot.withLock { $0.shownState } }
  /// Whether this process may use the radio.
  open var authorization: CBManagerAuthorization { choice.authorization }
  /// Whether this process may use the radio that `ATTO_RADIO` names.
  open class var authorization: CBManagerAuthorization { CBRadio.usual.authorization }

  /// Whether commands are accepted; logs a warning if not.
  func acceptsCommands() -> Bool {
    if slot.value.state == .poweredOn { return true }
    // Apple's wording, so that a search finds what others have written about it.
    Warning.log(
      "API MISUSE: \(type(of: self)) can only accept this command while in the powered on state")
    return false
  }

  /// Makes the callbacks that wait for a delegate, if there is one. On the app's queue.
  func callDelegate() {
    let (delegate, restoration) = slot.withLock { slot -> (AnyObject?, DelegateSlot.Restoration?) in
      guard let delegate = slot.delegate.object else { return (nil, nil) }
      return (delegate, slot.restoration.take())
    }
    guard let delegate else { return observers.check() }
    restoration?(delegate)
    let isNew = slot.withLock { slot in
      defer { slot.told = slot.state }
      return slot.told != slot.state
    }
    if isNew {
      observers.check()
      tellState(delegate)
    }
  }

  /// Warns that the delegate does not implement `willRestoreState`, as far as Swift knows: a method that
  /// a subclass adds to the conformance of its superclass is never called.
  ///
  /// - Parameter conforms: whether a class conforms to the delegate protocol.
  func warnNotRestored(_ delegate: Any, _ method: String, conforms: (Any.Type) -> Bool) {
    // The class that declares the conformance.
    var mirror = Mirror(reflecting: delegate)
    while let next = mirror.superclassMirror, conforms(next.subjectType) { mirror = next }
    let own = Swift.type(of: delegate)
    var text =
      "API MISUSE: \(Swift.type(of: self)) has provided a restore identifier but the delegate doesn't"
      + " implement \(method): \(own) does not learn what was restored"
    if mirror.subjectType != own {
      text +=
        "\nhint: if \(own) has that method, declare it in \(mirror.subjectType) too, which declares"
        + " the conformance, and override it"
    }
    Warning.log(text)
  }

  /// Calls the delegate's method for a new state.
  func tellState(_ delegate: AnyObject) {}
}

extension CBManager: ObservedObject {}

/// The delegate of a manager, and what it has not been told.
///
/// The restored state and the state of the radio wait until there is a delegate, which may be set later
/// and on another thread. If the radio changes meanwhile, only its latest state is told.
struct DelegateSlot {
  typealias Restoration = (AnyObject) -> Void

  var delegate = WeakReference<AnyObject>()
  /// Reports the restored state and resumes it.
  var restoration: Restoration?
  /// The state of the radio. It changes on the app's queue.
  var state = CBManagerState.unknown
  /// The state that a delegate was told last.
  var told = CBManagerState.unknown

  /// The state for the app: with a delegate, the one that it was told, so that code on another thread
  /// does not act on it before the delegate.
  var shownState: CBManagerState { delegate.object == nil ? state : told }
}
