import Foundation

// Key-value observation of this module's objects, with the names of Foundation on Apple's systems.

/// What an observation reports.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// The change has the new value.
  public static let new = NSKeyValueObservingOptions(rawValue: 1)
  /// The change has the old value.
  public static let old = NSKeyValueObservingOptions(rawValue: 2)
  /// The handler is called at once too.
  public static let initial = NSKeyValueObservingOptions(rawValue: 4)
  /// Has no effect: the handler is not called before a change.
  public static let prior = NSKeyValueObservingOptions(rawValue: 8)
}

/// A change of an observed property.
public struct NSKeyValueObservedChange<Value> {
  /// The new value, if the options ask for it.
  public let newValue: Value?
  /// The old value, if the options ask for it; nil in the first call of `.initial`.
  public let oldValue: Value?
  /// Always false.
  public let isPrior: Bool
}

/// An observation. It ends when it is released or invalidated.
public final class NSKeyValueObservation: NSObject {
  private let observers: ObserverList

  init(_ observers: ObserverList) {
    self.observers = observers
    super.init()
  }

  deinit { invalidate() }

  /// Ends the observation.
  public func invalidate() { observers.remove(ObjectIdentifier(self)) }
}

/// The observations of one object.
final class ObserverList: Sendable {
  /// Those of objects of the app, whose key paths lead to objects of this module.
  static let ofTheApp = ObserverList()
  /// Whether the app knows what cannot be observed.
  static let hasWarned = Locked(false)

  private let checks = Locked<[(id: ObjectIdentifier, check: () -> Void)]>([])

  func add(_ observation: NSKeyValueObservation, _ check: @escaping () -> Void) {
    checks.withLock { $0.append((ObjectIdentifier(observation), check)) }
  }

  func remove(_ id: ObjectIdentifier) {
    // Released after unlocking: a handler may own other observations.
    let removed = checks.withLock { checks in
      checks.firstIndex { $0.id == id }.map { checks.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
  }

  /// Reports the properties that have changed since the last call.
  func check() {
    for observer in checks.value { observer.check() }
    if self !== Self.ofTheApp { Self.ofTheApp.check() }
  }
}

/// An object of this module with observable properties.
protocol ObservedObject: NSObject {
  var observers: ObserverList { get }
}

/// An object with observable properties, or with a way to one.
public protocol _KeyValueObservable: NSObject {
  /// Adds an observation. Not for apps.
  func _observe(_ check: @escaping () -> Void) -> NSKeyValueObservation
}

/// An object of this module whose properties change without notice.
protocol UnobservedObject: NSObject {}

extension UnobservedObject {
  /// Warns the first time in this process.
  func warnNotObserved() {
    let isFirst = ObserverList.hasWarned.withLock { hasWarned in
      defer { hasWarned = true }
      return !hasWarned
    }
    guard isFirst else { return }
    Warning.log(
      "observe(_:) of a \(type(of: self)) never calls its handler: implement the delegate's method")
  }
}

extension NSObject: _KeyValueObservable {
  public func _observe(_ check: @escaping () -> Void) -> NSKeyValueObservation {
    (self as? any UnobservedObject)?.warnNotObserved()
    let observers = (self as? any ObservedObject)?.observers ?? ObserverList.ofTheApp
    let observation = NSKeyValueObservation(observers)
    observers.add(observation, check)
    return observation
  }
}

extension _KeyValueObservable {
  /// Calls a handler for each change of a property of a manager (`state`, `isScanning`, `isAdvertising`) or of
  /// a peripheral (`state`, `name`, `services`, `rssi`, `canSendWriteWithoutResponse`), and of key paths of an
  /// app's object that lead there, as `\.manager.isScanning`. The handler runs on the thread of the change.
  ///
  /// Services, characteristics and descriptors cannot be observed: the first attempt logs a warning.
  public func observe<Value: Equatable>(
    _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation {
    let last = Locked(self[keyPath: keyPath])
    let observation = _observe { [weak self] in
      guard let self else { return }
      let new = self[keyPath: keyPath]
      let old = last.withLock { last in
        defer { last = new }
        return last
      }
      guard new != old else { return }
      changeHandler(
        self,
        NSKeyValueObservedChange(
          newValue: options.contains(.new) ? new : nil,
          oldValue: options.contains(.old) ? old : nil, isPrior: false))
    }
    if options.contains(.initial) {
      changeHandler(
        self,
        NSKeyValueObservedChange(
          newValue: options.contains(.new) ? last.value : nil, oldValue: nil, isPrior: false))
    }
    return observation
  }
}
