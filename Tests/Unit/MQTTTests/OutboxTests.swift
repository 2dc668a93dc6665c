import AttoStore
import TestSupport
import Testing

@testable import AttoMQTT

/// A broker and a disk for an outbox, driven step by step.
struct OutboxBench {
  var outbox: Outbox
  /// What is on the disk: segments, which survive a crash.
  var disk: [[KeptValue]] = []
  var diskHighest: UInt64 = 0
  /// A disk that is full is also one that cannot be read.
  var isDiskFull = false
  var pending: Outbox.DiskCall?
  var isConnected = true
  var window = 20
  var now: Int64 = 0
  var inFlight: [(message: Int32, value: KeptValue)] = []
  var lastMessage: Int32 = 0
  /// Values that the broker has received, in order.
  var arrived: [KeptValue] = []
  let limit: Int

  init(limit: Int = 100_000) {
    self.limit = limit
    outbox = Outbox(limit: limit, stored: Outbox.Stored())
  }

  /// The numbers of values that the disk has ever accepted.
  var accepted: Set<UInt64> = []

  mutating func add(_ payload: Int) {
    let value = KeptValue(
      number: 0, time: now, topic: "t", payload: Array("\(payload)".utf8), isJSON: false)
    outbox.append(value, at: now)
    pump()
  }

  mutating func pump() {
    if isConnected {
      while outbox.inFlight < window, let (value, _) = outbox.next(at: now) {
        lastMessage += 1
        outbox.sent(as: lastMessage)
        arrived.append(value)
        inFlight.append((lastMessage, value))
      }
    }
    if pending == nil { pending = outbox.diskCall(at: now, isConnected: isConnected) }
  }

  mutating func acknowledge() {
    guard !inFlight.isEmpty else { return }
    outbox.acknowledged(inFlight.removeFirst().message)
    pump()
  }

  mutating func disconnect() {
    isConnected = false
    inFlight = []
    outbox.connectionLost()
    pump()
  }

  mutating func connect() {
    isConnected = true
    pump()
  }

  /// The disk carries out the call.
  mutating func finishDisk() {
    guard let call = pending else { return }
    pending = nil
    switch call {
    case .write(let values, let through):
      guard !isDiskFull else {
        outbox.wrote(false, removedThrough: through)
        return
      }
      disk.removeAll { $0.last!.number <= through }
      if let last = values.last {
        disk.append(values)
        accepted.formUnion(values.map(\.number))
        diskHighest = last.number
      }
      outbox.wrote(true, removedThrough: through)
    case .read(let first):
      guard !isDiskFull else {
        outbox.readFailed()
        return
      }
      let segments = disk.filter { $0.last!.number >= first }.prefix(4)
      outbox.read(segments.joined().filter { $0.number >= first })
    }
    pump()
  }

  /// The process is killed and started again. A call of the disk that is under way is lost.
  mutating func crash(hasDisk: Bool = true) {
    pending = nil
    inFlight = []
    isConnected = false
    outbox = Outbox(limit: limit, stored: hasDisk ? stored : nil)
    pump()
  }

  /// A process that has started without the disk finds it.
  mutating func attach() {
    inFlight = []
    outbox.attach(stored, limit: limit)
    pump()
  }

  private var stored: Outbox.Stored {
    Outbox.Stored(count: disk.joined().count, last: diskHighest)
  }

  /// Lets everything arrive.
  mutating func drain() {
    isDiskFull = false
    connect()
    var turns = 0
    while outbox.count > 0 || pending != nil {
      turns += 1
      guard turns < 200_000 else {
        Issue.record("\(outbox.count) values are stuck")
        return
      }
      now += 10
      pump()
      if inFlight.isEmpty { finishDisk() } else { acknowledge() }
      if outbox.count == 0 { finishDisk() }
    }
  }

  var numbers: [Int] { arrived.map { Int(String(decoding: $0.payload, as: UTF8.self))! } }
}

@Suite(.oneByOne) struct OutboxTests {
  @Test func an_answering_broker_lets_the_disk_rest() {
    var bench = OutboxBench()
    for index in 0..<1000 {
      bench.add(index)
      bench.now += 1
      bench.acknowledge()
    }
    #expect(bench.numbers == Array(0..<1000))
    #expect(bench.disk.isEmpty && bench.pending == nil && bench.outbox.kept == 0)
  }

  @Test func values_wait_on_disk_in_order() {
    var bench = OutboxBench()
    bench.disconnect()
    for index in 0..<30_000 {
      bench.add(index)
      if index % 100 == 0 { bench.finishDisk() }
    }
    for _ in 0..<1000 { bench.finishDisk() }
    #expect(bench.outbox.count == 30_000 - bench.outbox.dropped)
    bench.drain()
    let numbers = bench.numbers
    #expect(numbers.count == 30_000 - bench.outbox.dropped)
    #expect(numbers == numbers.sorted())
    #expect(bench.disk.isEmpty)
  }

  @Test func the_oldest_are_dropped_and_counted() {
    var bench = OutboxBench(limit: 5000)
    bench.disconnect()
    for index in 0..<20_000 {
      bench.add(index)
      if index % 50 == 0 { bench.finishDisk() }
    }
    for _ in 0..<200 { bench.finishDisk() }
    #expect(bench.outbox.count <= 5000)
    bench.drain()
    #expect(bench.numbers.last == 19_999)
    #expect(bench.numbers == bench.numbers.sorted())
    #expect(bench.numbers.count + bench.outbox.dropped == 20_000)
  }

  @Test(arguments: [0, 300]) func a_disk_that_comes_later_has_the_older_values(older: Int) {
    var bench = OutboxBench()
    bench.disconnect()
    for index in 0..<older { bench.add(index) }
    for _ in 0..<20 { bench.finishDisk() }
    #expect(bench.disk.joined().count == older)
    bench.crash(hasDisk: false)
    for index in older..<(older + 6000) { bench.add(index) }
    // Some are sent and not acknowledged.
    bench.connect()
    #expect(bench.numbers == Array(older..<(older + bench.window)))
    bench.arrived = []
    bench.attach()
    bench.finishDisk()
    bench.drain()
    #expect(bench.numbers == Array(0..<(older + 6000)))
    #expect(bench.outbox.dropped == 0)
  }

  @Test func a_full_disk_bounds_the_memory() {
    var bench = OutboxBench()
    bench.isDiskFull = true
    bench.disconnect()
    for index in 0..<20_000 {
      bench.add(index)
      if index % 50 == 0 { bench.finishDisk() }
    }
    #expect(bench.outbox.count == Outbox.headLimit + Outbox.tailLimit)
    #expect(bench.outbox.dropped == 20_000 - bench.outbox.count)
    bench.drain()
    #expect(bench.numbers.count == Outbox.headLimit + Outbox.tailLimit)
    #expect(bench.numbers == bench.numbers.sorted())
  }

  @Test func late_values_are_known() {
    var bench = OutboxBench()
    bench.disconnect()
    bench.add(1)
    #expect(bench.outbox.next(at: 500)?.isLate == false)
    #expect(bench.outbox.next(at: 1001)?.isLate == true)
    bench.finishDisk()
    bench.crash()
    bench.finishDisk()
    #expect(bench.outbox.next(at: 0)?.isLate == true)
  }

  /// Everything that can happen, at random: what the disk has accepted arrives, in order.
  @Test(arguments: 1...8) func chaos(_ seed: UInt64) {
    var random = SplitMix(seed)
    var bench = OutboxBench(limit: 100_000)
    var next = 0
    for _ in 0..<2000 {
      bench.now += Int64(random.below(30))
      switch random.below(100) {
      case 0..<40:
        for _ in 0..<(1 + random.below(60)) {
          bench.add(next)
          next += 1
        }
      case 40..<65: for _ in 0..<(1 + random.below(40)) { bench.acknowledge() }
      case 65..<90: bench.finishDisk()
      case 90..<94: if bench.isConnected { bench.disconnect() }
      case 94..<98: if !bench.isConnected { bench.connect() }
      case 98: bench.isDiskFull.toggle()
      default: bench.crash()
      }
    }
    bench.drain()
    let lost = bench.accepted.subtracting(bench.arrived.map(\.number)).sorted().prefix(5)
    #expect(lost.isEmpty, "seed \(seed)")
    #expect(bench.disk.isEmpty, "seed \(seed)")
    // First arrivals are in order; what arrives again does so after a lost connection.
    var seen: Set<UInt64> = []
    let first = bench.arrived.map(\.number).filter { seen.insert($0).inserted }
    #expect(first == first.sorted(), "seed \(seed)")
  }

  @Test func a_segment_is_read_as_it_was_written() {
    let values = (0..<300).map { index in
      KeptValue(
        number: UInt64(index) << 20, time: -Int64(index),
        topic: String(repeating: "é", count: index),
        payload: (0..<index).map { UInt8(truncatingIfNeeded: $0) }, isJSON: index % 2 == 0,
        isRetained: index % 3 == 0, isRepeated: index % 5 == 0)
    }
    let octets = Segment.octets(values)
    #expect(Segment.values(octets) == values)
    for count in 1..<min(2000, octets.count) {
      let cut = Segment.values(Array(octets.prefix(count)))
      #expect(cut == nil || values.starts(with: cut!))
    }
  }
}

/// Numbers from a seed.
struct SplitMix {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// From 0 to 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
