import Synchronization

/// The events of a scan, for one consumer. Releasing it ends the scan.
///
/// At most ``bufferLimit`` events wait. Further ones are dropped, counted, and reported as
/// ``ScanEvent/missed(_:)`` in their place.
public struct ScanEvents: AsyncSequence, Sendable {
  public typealias Element = ScanEvent
  public typealias Failure = RadioError
  /// Events that may wait.
  public static let bufferLimit = 4096

  fileprivate typealias Stream = AsyncStream<Result<ScanEvent, RadioError>>
  private let stream: Stream
  private let waiting: Waiting

  /// The number of events that wait. The limit of the stream itself would also drop the final error.
  fileprivate final class Waiting: Sendable {
    let count = Atomic<Int>(0)
  }

  /// Returns a sequence and its sink. `onEnd` is called once, when the sequence ends or is released.
  static func make(onEnd: @escaping @Sendable () -> Void) -> (ScanEvents, Sink) {
    let (stream, continuation) = Stream.makeStream(bufferingPolicy: .unbounded)
    continuation.onTermination = { _ in onEnd() }
    let waiting = Waiting()
    return (ScanEvents(stream: stream, waiting: waiting), Sink(continuation, waiting))
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: stream.makeAsyncIterator(), waiting: waiting)
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: Stream.Iterator
    fileprivate let waiting: Waiting

    /// The next event; nil after the timeout, and when the task is cancelled.
    ///
    /// - Throws: the error that ended the scan, for instance `closed`, `folder` or `system`.
    public mutating func next() async throws(RadioError) -> ScanEvent? {
      try received(await base.next(isolation: #isolation))
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(RadioError) -> ScanEvent? {
      try received(await base.next(isolation: actor))
    }

    private func received(
      _ result: Result<ScanEvent, RadioError>?
    ) throws(RadioError) -> ScanEvent? {
      guard let result else { return nil }
      waiting.count.subtract(1, ordering: .relaxed)
      return try result.get()
    }
  }

  /// The end at which an adapter adds events. One thread at a time.
  struct Sink {
    private let continuation: Stream.Continuation
    private let waiting: Waiting
    private var missed = 0

    fileprivate init(_ continuation: Stream.Continuation, _ waiting: Waiting) {
      self.continuation = continuation
      self.waiting = waiting
    }

    mutating func yield(_ event: ScanEvent) {
      guard waiting.count.load(ordering: .relaxed) < ScanEvents.bufferLimit else {
        missed += 1
        return
      }
      reportMissed()
      add(.success(event))
    }

    mutating func finish(throwing error: RadioError? = nil) {
      reportMissed()
      if let error { add(.failure(error)) }
      continuation.finish()
    }

    private mutating func reportMissed() {
      if missed > 0 { add(.success(.missed(missed))) }
      missed = 0
    }

    private func add(_ result: Result<ScanEvent, RadioError>) {
      waiting.count.add(1, ordering: .relaxed)
      continuation.yield(result)
    }
  }
}
