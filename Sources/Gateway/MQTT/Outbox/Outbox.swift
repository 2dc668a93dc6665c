/// The values that the broker has not acknowledged, in their order.
///
/// # Theory
/// The line of values has three parts:
///
///     head (memory)          | middle (disk only) | tail (memory, not on disk yet)
///     sent, sent, waiting ...| ...                | ...
///
/// A new value joins the head if nothing is behind that, and otherwise the tail. Values are published
/// from the head, as many at a time as the broker's window allows. A value leaves the line with its
/// acknowledgement. If the connection is lost, all that are not acknowledged wait again, so a value can
/// arrive twice; the order stays.
///
/// What waits longer than ``keepDelay``, without a broker anything, is written to the disk in batches,
/// in the order of the line: first what the head has of it, then the tail, whose memory is then free. So
/// the disk rests as long as the broker answers at once. When the head runs out, it is filled from the
/// disk, then from the tail. One call of the disk is under way at a time, and values that arrive
/// meanwhile make the next batch, which grows with the load.
///
/// A value that is on disk is removed there after its acknowledgement, with the next batch. It is called
/// kept: it arrives at least once, whatever dies.
///
/// If more than `limit` values wait, or more than ``tailLimit`` because the disk is full or slow, the
/// oldest that can be dropped is, and counted.
///
/// Sans-IO: time in milliseconds comes in, and ``DiskCall`` and values to publish go out.
struct Outbox {
  /// Values in the head.
  static let headLimit = 4096
  /// Values in the tail.
  static let tailLimit = 8192
  /// Milliseconds after which a value that is not acknowledged is written to the disk.
  static let keepDelay: Int64 = 50
  /// Milliseconds after which a value is late.
  static let lateAfter: Int64 = 1000

  /// What the disk is to do next.
  enum DiskCall: Equatable, Sendable {
    /// Stores values, and removes those with numbers up to `through`.
    case write([KeptValue], removeThrough: UInt64)
    /// Reads the next values with numbers from this one on.
    case read(from: UInt64)
  }

  private struct Entry {
    var value: KeptValue
    /// When it was appended, in milliseconds; nil for a value of a former process.
    var arrived: Int64?
    /// The message's ID while it is sent; nil while it waits.
    var message: Int32?
    var isAcknowledged = false
    var wasSent = false
  }

  /// Values that may wait.
  let limit: Int
  /// Whether there is a disk.
  let hasDisk: Bool
  private var head: [Entry] = []
  /// Entries of the head that have left it; removed together, so that none has to move each time.
  private var gone = 0
  /// The index in `head` of the first that was not sent.
  private var nextToSend = 0
  private var tail: [Entry] = []
  private var tailGone = 0
  private var numbers: [Int32: UInt64] = [:]
  private var nextNumber: UInt64
  /// Values in the middle. Up to `owed` of them are to be dropped when they are read.
  private var middle: Int
  private var owed = 0
  /// All with lower numbers are on disk, or need not be.
  private var firstUnwritten: UInt64
  /// The number after the last one of the head, from which the middle is read, and its last one.
  private var middleStart: UInt64
  private var middleLast: UInt64
  private var lastWritten: UInt64
  private var removed: UInt64 = 0
  private var isCalling = false
  private var callEnd: UInt64 = 0
  private var callCount = 0

  /// Values dropped.
  private(set) var dropped = 0
  /// Values of which the disk has accepted a copy.
  private(set) var kept = 0

  /// A line that begins with what the disk holds.
  init(limit: Int, stored: Stored?) {
    self.limit = max(1, limit)
    hasDisk = stored != nil
    let last = stored?.last ?? 0
    nextNumber = last + 1
    firstUnwritten = last + 1
    lastWritten = last
    middle = stored?.count ?? 0
    middleStart = 1
    middleLast = last
    kept = middle
  }

  /// Goes on with a disk that can be used only now. Its values are older, and come first. What was sent and is not
  /// acknowledged waits again.
  mutating func attach(_ stored: Stored, limit: Int) {
    connectionLost()
    var line = Outbox(limit: limit, stored: stored)
    for entry in Array(head[gone...]) + tail[tailGone...] where !entry.isAcknowledged {
      line.append(entry)
    }
    line.dropped += dropped
    self = line
  }

  /// What the disk holds at the start.
  struct Stored: Equatable, Sendable {
    var count = 0
    /// The highest number that was ever used.
    var last: UInt64 = 0
  }

  /// Values that wait for their acknowledgement.
  var count: Int { head.count - gone - acknowledgedInside + middle + tail.count - tailGone }
  private var acknowledgedInside = 0
  /// The time of the oldest value in memory that waits.
  var oldest: Int64? { head[gone...].first { $0.value.time > 0 }?.value.time }
  /// Whether values wait that were not sent.
  var hasWaiting: Bool { nextToSend < head.count || middle > 0 || tail.count > tailGone }
  /// Values that were sent and wait for their acknowledgement.
  var inFlight: Int { numbers.count }

  // MARK: - Values

  /// Adds a value at the end. Its number is set.
  mutating func append(_ value: KeptValue, at now: Int64) {
    append(Entry(value: value, arrived: now))
  }

  private mutating func append(_ entry: Entry) {
    var entry = entry
    entry.value.number = nextNumber
    nextNumber += 1
    if count >= limit { dropOldest() }
    if middle == 0, tail.count == tailGone, head.count - gone < (hasDisk ? Self.headLimit : limit) {
      head.append(entry)
      middleStart = entry.value.number + 1
    } else {
      if tail.count - tailGone >= Self.tailLimit {
        tailGone += 1
        dropped += 1
        compactTail()
      }
      tail.append(entry)
    }
  }

  /// The next value to publish, and whether it is late; nil if there is none in memory.
  func next(at now: Int64) -> (value: KeptValue, isLate: Bool)? {
    guard nextToSend < head.count else { return nil }
    let entry = head[nextToSend]
    let age = entry.arrived.map { now - $0 } ?? .max
    return (entry.value, entry.wasSent || age > Self.lateAfter)
  }

  /// The value of ``next(at:)`` was published.
  mutating func sent(as message: Int32) {
    head[nextToSend].message = message
    head[nextToSend].wasSent = true
    numbers[message] = head[nextToSend].value.number
    advance()
  }

  /// The value of ``next(at:)`` can never be published.
  mutating func refused() {
    dropped += 1
    acknowledge(at: nextToSend)
    skipAcknowledged()
  }

  /// The broker has acknowledged a message.
  ///
  /// - Returns: false if it is not one of a value here.
  @discardableResult mutating func acknowledged(_ message: Int32) -> Bool {
    guard let number = numbers.removeValue(forKey: message) else { return false }
    if let index = index(of: number) { acknowledge(at: index) }
    return true
  }

  /// What was sent and is not acknowledged waits again.
  mutating func connectionLost() {
    numbers.removeAll(keepingCapacity: true)
    for index in gone..<head.count { head[index].message = nil }
    nextToSend = gone
    skipAcknowledged()
  }

  private mutating func advance() {
    nextToSend += 1
    skipAcknowledged()
  }

  private mutating func skipAcknowledged() {
    while nextToSend < head.count, head[nextToSend].isAcknowledged { nextToSend += 1 }
  }

  private mutating func acknowledge(at index: Int) {
    guard !head[index].isAcknowledged else { return }
    head[index].isAcknowledged = true
    acknowledgedInside += 1
    while gone < head.count, head[gone].isAcknowledged {
      head[gone].value.payload = []
      gone += 1
      acknowledgedInside -= 1
    }
    nextToSend = max(nextToSend, gone)
    compactHead()
  }

  private mutating func dropOldest() {
    dropped += 1
    if nextToSend < head.count {
      acknowledge(at: nextToSend)
      skipAcknowledged()
    } else if middle > owed {
      // Gone when they are read.
      owed += 1
    } else if tail.count > tailGone {
      tailGone += 1
      compactTail()
    } else if let message = head.dropFirst(gone).first(where: { !$0.isAcknowledged })?.message {
      acknowledged(message)
    }
  }

  /// The index of the entry with a number.
  private func index(of number: UInt64) -> Int? {
    var (low, high) = (gone, head.count)
    while low < high {
      let middle = (low + high) / 2
      if head[middle].value.number < number { low = middle + 1 } else { high = middle }
    }
    return low < head.count && head[low].value.number == number ? low : nil
  }

  private mutating func compactHead() {
    guard gone >= 1024 || gone == head.count else { return }
    head.removeFirst(gone)
    nextToSend -= gone
    gone = 0
  }

  private mutating func compactTail() {
    guard tailGone >= 1024 || tailGone == tail.count else { return }
    tail.removeFirst(tailGone)
    tailGone = 0
  }

  // MARK: - The disk

  /// The next call of the disk; nil if there is nothing to do, or a call is under way.
  ///
  /// - Parameter isConnected: without a broker values are stored at once.
  mutating func diskCall(at now: Int64, isConnected: Bool) -> DiskCall? {
    guard hasDisk, !isCalling else { return nil }
    if middle > 0, head.count - nextToSend < Self.headLimit / 2 {
      isCalling = true
      return .read(from: middleStart)
    }
    fillFromTail()
    let values = batch(at: now, isConnected: isConnected)
    let through = acknowledgedThrough
    // Removing alone waits until it is worth a sync.
    let isWorthIt = removed < lastWritten && (through >= lastWritten || through - removed >= 4096)
    guard !values.isEmpty || isWorthIt else { return nil }
    isCalling = true
    callEnd = values.last?.number ?? 0
    callCount = values.count
    return .write(values, removeThrough: through)
  }

  /// When the next value of the head has to be written; nil if none waits for that.
  var nextDiskTime: Int64? {
    guard hasDisk, !isCalling, let index = firstUnwrittenIndex else { return nil }
    return (head[index].arrived ?? 0) + Self.keepDelay
  }

  /// All values up to this number are acknowledged or dropped.
  private var acknowledgedThrough: UInt64 {
    if gone < head.count { return head[gone].value.number - 1 }
    // While the middle is not read, it is not known where it begins.
    if middle > 0 { return middleStart - 1 }
    if tail.count > tailGone { return tail[tailGone].value.number - 1 }
    return nextNumber - 1
  }

  private var firstUnwrittenIndex: Int? {
    var (low, high) = (gone, head.count)
    while low < high {
      let middle = (low + high) / 2
      if head[middle].value.number < firstUnwritten { low = middle + 1 } else { high = middle }
    }
    while low < head.count, head[low].isAcknowledged { low += 1 }
    return low < head.count ? low : nil
  }

  private func batch(at now: Int64, isConnected: Bool) -> [KeptValue] {
    var values: [KeptValue] = []
    var octets = 0
    func add(_ value: KeptValue) -> Bool {
      values.append(value)
      octets += value.payload.count + value.topic.utf8.count
      return values.count < Segment.valueLimit && octets < Segment.octetLimit
    }
    let isSpilling = tail.count > tailGone
    for index in (firstUnwrittenIndex ?? head.count)..<head.count
    where !head[index].isAcknowledged {
      let age = now - (head[index].arrived ?? 0)
      if isConnected, !isSpilling, age < Self.keepDelay { return values }
      guard add(head[index].value) else { return values }
    }
    for entry in tail[tailGone...] { guard add(entry.value) else { return values } }
    return values
  }

  /// The disk has done a write, or failed; then the values are written again.
  mutating func wrote(_ isDone: Bool, removedThrough: UInt64) {
    isCalling = false
    guard isDone else { return }
    removed = max(removed, removedThrough)
    guard callEnd > 0 else { return }
    firstUnwritten = callEnd + 1
    lastWritten = callEnd
    kept += callCount
    let fromTail = tail[tailGone...].prefix { $0.value.number <= callEnd }.count
    guard fromTail > 0 else { return }
    tailGone += fromTail
    middle += fromTail
    middleLast = callEnd
    compactTail()
  }

  /// The disk could not be read now; the same call follows.
  mutating func readFailed() { isCalling = false }

  /// The disk has read values. Fewer than there should be, if it is damaged: none means that the
  /// middle is lost.
  mutating func read(_ values: [KeptValue]) {
    isCalling = false
    guard let last = values.last else {
      dropped += max(0, middle - owed)
      (middle, owed) = (0, 0)
      return
    }
    for value in values where middleStart...max(middleStart, middleLast) ~= value.number {
      middle = max(1, middle - 1)
      if owed > 0 { owed -= 1 } else { head.append(Entry(value: value)) }
    }
    middleStart = last.number + 1
    if last.number >= middleLast { (middle, owed) = (0, 0) }
  }

  /// Moves values from the tail to the head while nothing is between them.
  private mutating func fillFromTail() {
    guard middle == 0, tail.count > tailGone else { return }
    while tailGone < tail.count, head.count - gone < Self.headLimit {
      head.append(tail[tailGone])
      middleStart = tail[tailGone].value.number + 1
      tailGone += 1
    }
    compactTail()
  }
}
