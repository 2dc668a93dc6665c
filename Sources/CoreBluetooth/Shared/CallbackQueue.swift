import Dispatch
import Foundation

/// Where an app is called back: one call after another, in order, and never from within a call
/// of the app's own.
///
/// On a concurrent queue the calls are in order too: a serial queue of our own stands before it.
final class CallbackQueue: Sendable {
  private let queue: DispatchQueue

  /// - Parameter queue: nil is the main queue.
  init(_ queue: DispatchQueue?) {
    if let queue, queue !== DispatchQueue.main {
      self.queue = DispatchQueue(label: "CoreBluetooth callbacks", target: queue)
    } else {
      self.queue = .main
    }
  }

  func post(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }
}
