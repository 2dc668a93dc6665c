import Synchronization

/// What a scan reports. For one consumer; releasing it ends the scan.
///
/// At most ``bufferLimit`` events wait to be taken. What comes beyond is dropped, counted, and
/// reported as ``ScanEvent/missed(_:)`` in its place.
public struct ScanEvents: AsyncSequence, Sendable {
  public typealias Element = ScanEvent
  public typealias Failure = RadioError
  /// Events that may wait.
  public static let bufferLimit = 4096

  fileprivate typealias Stream = AsyncStream<Result<ScanEvent, RadioError>>
  private let stream: Stream
  private let waiting: Waiting

  /// How many events wait. The stream's own limit would drop the error at the end as well.
  fileprivate final class Waiting: Sendable {
    let count = Atomic<Int>(0)
  }

  /// Makes a sequence and the end that feeds it. `onEnd` is called once, when it is over for
  /// whatever reason.
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
    /// - Throws: what made the scan end: the radio's folder is gone, there are no descriptors
    ///   left, the adapter was closed.
    public mutating func next() async throws(RadioError) -> ScanEvent? {
      try take(await base.next())
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(RadioError) -> ScanEvent? {
      try take(await base.next(isolation: actor))
    }

    private func take(_ result: Result<ScanEvent, RadioError>?) throws(RadioError) -> ScanEvent? {
      guard let result else { return nil }
      waiting.count.subtract(1, ordering: .relaxed)
      return try result.get()
    }
  }

  /// Where an adapter puts events. One thread at a time.
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
      tellMissed()
      add(.success(event))
    }

    /// Ends the sequence, with an error or without.
    mutating func finish(throwing error: RadioError? = nil) {
      tellMissed()
      if let error { add(.failure(error)) }
      continuation.finish()
    }

    private mutating func tellMissed() {
      if missed > 0 { add(.success(.missed(missed))) }
      missed = 0
    }

    private func add(_ result: Result<ScanEvent, RadioError>) {
      waiting.count.add(1, ordering: .relaxed)
      continuation.yield(result)
    }
  }
}
