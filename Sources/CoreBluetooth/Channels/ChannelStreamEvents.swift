import Foundation

/// What the two streams of a channel have in common: their status, who is told of events, and in
/// which run loops.
///
/// # Theory
/// A stream that is scheduled has one timer in each run loop and mode, due in the distant future:
/// it keeps the run loop turning, as a source does, and being made due from another thread it
/// wakes it. When it fires, the stream's state is looked at and the delegate told of one event
/// after the other: opened once; then, whenever something can be read (written) and was not told
/// since the last read (write); then the end or the error, once.
///
/// `@unchecked Sendable`: what changes is touched only while `lock` is held. Timers are made due
/// and invalidated by any thread, which Core Foundation locks for itself.
final class ChannelStreamEvents: @unchecked Sendable {
  private struct Place {
    let loop: RunLoop
    let mode: RunLoop.Mode
    let timer: Timer
  }

  private let pipe: ChannelPipe
  private let side: ChannelPipe.Side
  private let lock = NSLock()
  private weak var stream: Stream?
  private weak var listener: (any StreamDelegate)?
  private var places: [Place] = []
  private var isOpen = false
  private var isClosed = false
  private var hasToldOpen = false
  private var hasToldRoom = false
  private var hasToldEnd = false

  init(_ pipe: ChannelPipe, _ side: ChannelPipe.Side) {
    self.pipe = pipe
    self.side = side
  }

  /// Told to the delegate as the one that the event is about.
  func begin(for stream: Stream) {
    lock.withLock { self.stream = stream }
    pipe.whenChanged(side) { [weak self] in self?.signal() }
  }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { listener } }
    set { lock.withLock { listener = newValue } }
  }

  // MARK: The stream's life

  func open() {
    lock.withLock { if !isClosed { isOpen = true } }
    signal()
  }

  /// Also when the stream is released.
  func close() {
    let timers = lock.withLock {
      isClosed = true
      let timers = places.map(\.timer)
      places = []
      return timers
    }
    for timer in timers { timer.invalidate() }
    pipe.close(side)
  }

  var status: Stream.Status {
    let (isOpen, isClosed) = lock.withLock { (self.isOpen, self.isClosed) }
    if isClosed { return .closed }
    guard isOpen else { return .notOpen }
    let prospect = pipe.prospect(of: side)
    guard prospect.hasEnded, side == .output || prospect.count == 0 else { return .open }
    return prospect.failure == nil ? .atEnd : .error
  }

  var error: (any Error)? { pipe.prospect(of: side).failure }

  /// Whether reading or writing does not wait.
  var isReady: Bool {
    guard lock.withLock({ isOpen && !isClosed }) else { return false }
    return pipe.prospect(of: side).count > 0
  }

  var isUsable: Bool { lock.withLock { isOpen && !isClosed } }

  /// Something was read or written: what can be still is told again.
  func used() {
    lock.withLock { hasToldRoom = false }
    signal()
  }

  // MARK: Run loops

  func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    let timer = Timer(fire: .distantFuture, interval: 1e9, repeats: true) { [weak self] _ in
      self?.deliver()
    }
    let isNew = lock.withLock {
      guard !isClosed, !places.contains(where: { $0.loop === loop && $0.mode == mode }) else {
        return false
      }
      places.append(Place(loop: loop, mode: mode, timer: timer))
      return true
    }
    guard isNew else { return }
    loop.add(timer, forMode: mode)
    signal()
  }

  func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    let timer = lock.withLock {
      places.firstIndex { $0.loop === loop && $0.mode == mode }.map { places.remove(at: $0).timer }
    }
    timer?.invalidate()
  }

  /// Has the run loops look, if there is anything to tell.
  private func signal() {
    guard peek() != nil else { return }
    for timer in lock.withLock({ places.map(\.timer) }) { timer.fireDate = Date() }
  }

  private func peek() -> Stream.Event? {
    let prospect = pipe.prospect(of: side)
    return lock.withLock { next(prospect) }
  }

  private func next(_ prospect: ChannelPipe.Prospect) -> Stream.Event? {
    guard isOpen, !isClosed else { return nil }
    if !hasToldOpen { return .openCompleted }
    if prospect.count > 0 {
      return hasToldRoom ? nil : side == .input ? .hasBytesAvailable : .hasSpaceAvailable
    }
    guard prospect.hasEnded, !hasToldEnd else { return nil }
    return prospect.failure == nil ? .endEncountered : .errorOccurred
  }

  /// In the run loop's thread. What the delegate does within may lead to the next event.
  private func deliver() {
    while true {
      let prospect = pipe.prospect(of: side)
      let told: (Stream.Event, Stream, (any StreamDelegate)?)? = lock.withLock {
        guard let event = next(prospect), let stream else { return nil }
        switch event {
        case .openCompleted: hasToldOpen = true
        case .hasBytesAvailable, .hasSpaceAvailable: hasToldRoom = true
        default: hasToldEnd = true
        }
        return (event, stream, listener)
      }
      guard let (event, stream, listener) = told else { return }
      // Foundation's default: a stream without a delegate has none to tell.
      listener?.stream(stream, handle: event)
    }
  }
}
