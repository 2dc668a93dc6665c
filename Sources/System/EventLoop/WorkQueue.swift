/// A piece of work for a loop.
enum Work {
  case none
  /// One step of an actor.
  case job(UnownedJob)
  /// One step of a task that prefers the loop.
  case task(UnownedJob)
  case body(@Sendable () -> Void)
  /// A task that has yielded.
  case waiter(UnsafeContinuation<Void, Never>)
}

/// A FIFO ring of work. It grows as needed and never shrinks.
struct WorkQueue {
  private var ring: [Work]
  private var head = 0
  private(set) var count = 0

  init() { ring = Array(repeating: .none, count: 64) }

  var isEmpty: Bool { count == 0 }

  mutating func append(_ work: consuming Work) {
    if count == ring.count { grow() }
    ring[(head &+ count) & (ring.count &- 1)] = work
    count &+= 1
  }

  mutating func removeFirst() -> Work {
    var work = Work.none
    // Moved out rather than copied, which would retain and release it.
    swap(&ring[head], &work)
    head = (head &+ 1) & (ring.count &- 1)
    count &-= 1
    return work
  }

  private mutating func grow() {
    var larger: [Work] = []
    larger.reserveCapacity(ring.count * 2)
    for offset in 0..<count { larger.append(ring[(head + offset) & (ring.count - 1)]) }
    larger.append(contentsOf: repeatElement(.none, count: ring.count * 2 - count))
    ring = larger
    head = 0
  }
}
