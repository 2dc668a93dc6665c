import AttoEventLoop
import CAttoLinux
import Glibc
import Synchronization

/// What inotify reports about folders, for all observers of this process. Any thread.
///
/// # Theory
/// A user has 128 inotify instances on most machines (`fs.inotify.max_user_instances`), which editors
/// and desktops need too. So a process has one at most, however many radios scan, and only while a
/// folder is watched. The kernel gives a folder one watch in an instance, and its observers share it.
/// The loop of an observer reads the instance, and passes on the notices for observers on other loops.
/// When the last observer on that loop has left, the loop of another one takes over.
///
///     no instance --first subscription--> instance --last one cancelled, or it cannot be read--> none
///
/// # Limits
/// The kernel queues `fs.inotify.max_queued_events` notices (16,384). If it drops one, each observer is
/// told with `IN_Q_OVERFLOW`.
final class FolderNotices: Sendable {
  static let shared = FolderNotices()

  enum Report {
    case notice(InotifyNotice)
    /// The subscription has ended: the instance cannot be read.
    case unavailable
  }

  struct Subscription: Equatable {
    fileprivate let number: UInt64
  }

  private struct Subscriber {
    let subscription: Subscription
    let watch: Int32
    let loop: Loop
    let report: @Sendable (Report) -> Void
  }

  private struct State {
    var instance: Instance?
    /// Reads the instance; nil only without one.
    var reader: LoopBound<Reader>?
    var subscribers: [Subscriber] = []
    /// Of the last subscription.
    var lastNumber: UInt64 = 0
  }

  private static let mask = UInt32(
    IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
  private let state = Mutex(State())
  private let makeInstance: @Sendable () -> Int32

  /// - Parameter makeInstance: makes an inotify instance; the result is its descriptor, or -1 with
  ///   `errno`. Fails in tests.
  init(
    makeInstance: @escaping @Sendable () -> Int32 = {
      inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    }
  ) {
    self.makeInstance = makeInstance
  }

  /// Whether this process has an instance now.
  var hasInstance: Bool { withState { $0.instance != nil } }

  /// Observers on several loops begin and end at once. ThreadSanitizer does not see the order that a
  /// contended mutex gives, because the kernel hands it on.
  private func withState<Result: ~Copyable, Failure>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try state.withLock { state throws(Failure) in
      HappensBefore.acquire(self)
      defer { HappensBefore.release(self) }
      return try body(&state)
    }
  }

  /// Watches a folder until the subscription is cancelled. Changes after the call are reported on the
  /// loop, in their order.
  ///
  /// - Throws: the `errno`, such as EMFILE if the user or the process has no instance left.
  func subscribe(
    to path: String, on loop: Loop, _ report: @escaping @Sendable (Report) -> Void
  ) throws(Failure) -> Subscription {
    try withState { state throws(Failure) in
      let instance = if let open = state.instance { open } else { try open() }
      let watch = inotify_add_watch(instance.descriptor, path, Self.mask)
      guard watch >= 0 else { throw Failure(errno: errno) }
      state.instance = instance
      state.lastNumber += 1
      let subscription = Subscription(number: state.lastNumber)
      state.subscribers.append(
        Subscriber(subscription: subscription, watch: watch, loop: loop, report: report))
      if state.reader == nil { read(instance, on: loop, &state) }
      return subscription
    }
  }

  struct Failure: Error {
    let errno: Int32
  }

  /// Ends a subscription. What was reported before may still arrive.
  func cancel(_ subscription: Subscription) {
    withState { state in
      guard
        let index = state.subscribers.firstIndex(where: { $0.subscription == subscription })
      else { return }
      let watch = state.subscribers.remove(at: index).watch
      guard let instance = state.instance, let next = state.subscribers.first else {
        return close(&state)
      }
      if !state.subscribers.contains(where: { $0.watch == watch }) {
        // Fails if the folder was removed, which ended the watch.
        _ = inotify_rm_watch(instance.descriptor, watch)
      }
      if !state.subscribers.contains(where: { $0.loop === state.reader?.loop }) {
        endReader(&state)
        read(instance, on: next.loop, &state)
      }
    }
  }

  private func open() throws(Failure) -> Instance {
    let descriptor = makeInstance()
    guard descriptor >= 0 else { throw Failure(errno: errno) }
    return Instance(descriptor)
  }

  private func read(_ instance: Instance, on loop: Loop, _ state: inout State) {
    let reader = LoopBound(Reader(instance, self, loop), loop)
    state.reader = reader
    loop.execute { reader.value.begin() }
  }

  private func endReader(_ state: inout State) {
    guard let reader = state.reader else { return }
    state.reader = nil
    reader.loop.inline { reader.value.end() }
  }

  private func close(_ state: inout State) {
    endReader(&state)
    state.instance = nil
  }

  /// Passes on what was read, unless the instance is not in use any more.
  fileprivate func pass(_ notices: [InotifyNotice], from instance: Instance) {
    let subscribers = withState { $0.instance === instance ? $0.subscribers : [] }
    for notice in notices {
      let isForAll = notice.mask & UInt32(IN_Q_OVERFLOW) != 0
      for subscriber in subscribers where isForAll || subscriber.watch == notice.watch {
        subscriber.loop.inline { subscriber.report(.notice(notice)) }
      }
    }
  }

  /// Ends all subscriptions.
  fileprivate func fail(_ instance: Instance) {
    let ended = withState { state -> [Subscriber] in
      guard state.instance === instance else { return [] }
      close(&state)
      defer { state.subscribers = [] }
      return state.subscribers
    }
    for subscriber in ended { subscriber.loop.inline { subscriber.report(.unavailable) } }
  }
}

/// An inotify instance, which is closed when nothing refers to it.
private final class Instance: Sendable {
  let descriptor: Int32
  init(_ descriptor: Int32) { self.descriptor = descriptor }
  deinit { _ = close(descriptor) }
}

/// Reads an instance on one loop, on whose thread alone it is used. Two of them for the same instance may
/// exist for a moment, while one loop takes over from another.
private final class Reader: ReadinessHandler {
  private let instance: Instance
  private let notices: FolderNotices
  private unowned let loop: Loop
  private var watch: WatchID?
  private var isEnded = false

  init(_ instance: Instance, _ notices: FolderNotices, _ loop: Loop) {
    self.instance = instance
    self.notices = notices
    self.loop = loop
  }

  func begin() {
    guard !isEnded else { return }
    watch = try? loop.watch(instance.descriptor, self)
    if watch == nil { notices.fail(instance) }
  }

  func end() {
    isEnded = true
    if let watch { loop.unwatch(watch) }
    watch = nil
  }

  func ready(_ readiness: Readiness) {
    var octets = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<16 where !isEnded {
      let count = read(instance.descriptor, &octets, octets.count)
      guard count > 0 else { return }
      notices.pass(InotifyNotice.parse(octets[..<count]), from: instance)
    }
    if let watch { loop.reschedule(watch, .readable) }
  }
}

/// One `struct inotify_event`.
struct InotifyNotice: Equatable {
  /// The number of the folder's watch; -1 for `IN_Q_OVERFLOW`.
  let watch: Int32
  let mask: UInt32
  let name: String

  /// Parses the result of read(2): whole events, in the byte order of the machine.
  static func parse(_ octets: ArraySlice<UInt8>) -> [InotifyNotice] {
    var notices: [InotifyNotice] = []
    var rest = octets
    while rest.count >= 16 {
      let base = rest.startIndex
      let word = { (offset: Int) in
        let octets = rest[base + offset..<base + offset + 4]
        return octets.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
      }
      let length = Int(word(12))
      guard length <= rest.count - 16 else { break }
      let name = rest[base + 16..<base + 16 + length].prefix { $0 != 0 }
      notices.append(
        InotifyNotice(
          watch: Int32(bitPattern: word(0)), mask: word(4),
          name: String(decoding: name, as: UTF8.self)))
      rest = rest.dropFirst(16 + length)
    }
    return notices
  }
}
