import Foundation

/// The common part of a channel's two streams: status, delegate, and run loops.
///
/// # Theory
/// A scheduled stream has a timer in each of its run loops and modes, with a date in the distant
/// future. The timer keeps the run loop running, as a source would; another thread sets its date to
/// now to wake the loop. When it fires, the delegate gets the events in order: opened, once; then
/// data (or room) available, once after each read (or write); then the end or the error, once.
///
/// `@unchecked Sendable`: all state is touched only while `lock` is held. Timers are used on any
/// thread; Core Foundation locks them.
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

  /// Sets the stream that the delegate gets with each event.
  func begin(for stream: Stream) {
    lock.withLock { self.stream = stream }
    pipe.whenChanged(side) { [weak self] in self?.signal() }
  }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { listener } }
    set { lock.withLock { listener = newValue } }
  }

  // MARK: Status

  func open() {
    lock.withLock { if !isClosed { isOpen = true } }
    signal()
  }

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

  /// Whether reading or writing would not block.
  var isReady: Bool { isUsable && pipe.prospect(of: side).count > 0 }

  var isUsable: Bool { lock.withLock { isOpen && !isClosed } }

  /// Data was read or written: the next event is due if there is more.
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

  /// Wakes the run loops if an event is due.
  private func signal() {
    let prospect = pipe.prospect(of: side)
    let timers = lock.withLock { next(prospect) == nil ? [] : places.map(\.timer) }
    for timer in timers { timer.fireDate = Date() }
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

  /// Calls the delegate with all due events, on the run loop's thread. The delegate may cause more.
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
      listener?.stream(stream, handle: event)
    }
  }
}
