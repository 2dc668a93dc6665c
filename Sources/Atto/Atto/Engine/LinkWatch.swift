import AttoEventLoop
import AttoLinks

/// The loop's watch of a connection's descriptor, and what it reports.
///
/// # Theory
/// A socket is watched level-triggered. A peer that asks or answers sends one PDU at a time, so
/// after a request, a response or a confirmation the connection does not try to receive again: the
/// next poll reports if there is more, which usually saves a system call. Commands and
/// notifications come in bursts: after those, PDUs are received until there is none.
///
/// While nothing may be read, the descriptor is not watched for reading; it is watched for writing
/// only while something waits for room. The watch is edge-triggered while the link's security is
/// being raised, because a link may be writable before it is secure, and while the connection
/// awaits its stored state, because a level-triggered watch would report a hang-up in each poll.
///
/// Other links report once when they become ready, and are read until there is nothing.
struct LinkWatch {
  /// Whether the link is a socket and nothing else, so that the kernel knows what is ready.
  let isSocket: Bool
  private let loop: Loop
  private var id: WatchID?
  private var interest: Readiness
  private(set) var trigger: Trigger

  init(isSocket: Bool, on loop: Loop) {
    self.isSocket = isSocket
    self.loop = loop
    trigger = isSocket ? .level : .edge
    interest = isSocket ? .readable : [.readable, .writable]
  }

  /// Whether there is a descriptor to be watched.
  var isActive: Bool { id != nil }
  /// Whether the interest follows what the connection waits for.
  var isAdjustable: Bool { isSocket && id != nil }
  /// Whether the next poll reports what can be read.
  var reportsReading: Bool { interest.contains(.readable) }

  mutating func begin(
    _ descriptor: Int32, _ handler: any ReadinessHandler
  ) throws(LoopError) {
    id = try loop.watch(descriptor, trigger: trigger, handler)
  }

  mutating func adjust(reads: Bool, writes: Bool, isEdge: Bool) {
    guard let id else { return }
    var wanted: Readiness = reads ? .readable : []
    if writes { wanted.insert(.writable) }
    let kind: Trigger = isEdge ? .edge : .level
    guard wanted != interest || kind != trigger else { return }
    interest = wanted
    trigger = kind
    loop.setInterest(id, wanted, trigger: kind)
  }

  /// Has the handler called in the next turn. False if there is no descriptor.
  func reschedule(_ readiness: Readiness) -> Bool {
    guard let id else { return false }
    loop.reschedule(id, readiness)
    return true
  }

  mutating func end() {
    if let id { loop.unwatch(id) }
    id = nil
  }
}
