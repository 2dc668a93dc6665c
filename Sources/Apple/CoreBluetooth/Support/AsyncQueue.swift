import Foundation

/// Elements from callbacks, for one consumer that awaits them.
///
/// Only one ``next(isolation:)`` may be pending at a time. After ``finish(_:)`` the queue returns
/// the elements that are left, then throws the error if there is one, then returns nil. A cancelled
/// consumer gets nil at once, which ends the queue.
final class AsyncQueue<Element>: Sendable {
  private typealias Stream = AsyncThrowingStream<UncheckedBox<Element>, any Error>

  private let stream: Stream
  private let continuation: Stream.Continuation

  /// - Parameter limit: number of queued elements; further ones are dropped.
  init(limit: Int) {
    (stream, continuation) = Stream.makeStream(bufferingPolicy: .bufferingOldest(limit))
  }

  func add(_ element: Element) { continuation.yield(UncheckedBox(element)) }

  func finish(_ error: (any Error)? = nil) { continuation.finish(throwing: error) }

  func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
    if Task.isCancelled { return nil }
    var iterator = stream.makeAsyncIterator()
    return try await iterator.next(isolation: actor)?.content
  }
}
