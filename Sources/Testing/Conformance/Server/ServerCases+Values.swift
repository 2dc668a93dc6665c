import AttoATT
import AttoFormats

extension ServerCase {
  /// A configuration that a case has written.
  private struct Subscription {
    let value: KnownServer.Value
    let configuration: UInt16
    let bits: UInt8

    /// The opcode of its values.
    var opcode: UInt8 { bits == 1 ? 0x1B : 0x1D }
  }

  /// How long a case waits for a value. Servers decide when they send one.
  private static func window(_ bench: ServerBench) -> Duration {
    min(max(bench.patience, .milliseconds(1500)), .seconds(3))
  }

  /// Writes configurations: of values with one of these bits as property, at most 16.
  private static func subscribe(
    _ bench: ServerBench, _ bits: [UInt8], only handle: UInt16? = nil
  ) async throws -> [Subscription] {
    var found: [Subscription] = []
    for (value, configuration) in bench.known.configurations
    where handle ?? value.handle == value.handle {
      // Service Changed is a matter of the server.
      guard value.uuid != octets(0x2A05), found.count < 16,
        let bit = bits.first(where: { value.properties & ($0 << 4) != 0 })
      else { continue }
      guard try await bench.write([bit, 0], to: configuration) == [0x13] else { continue }
      found.append(Subscription(value: value, configuration: configuration, bits: bit))
    }
    try bench.require(!found.isEmpty, orSkip: "no value can be subscribed to")
    return found
  }

  /// Waits for a value, at last by writing other values, which may have an effect. Skips the case if there
  /// is none.
  ///
  /// - Parameter isPromised: whether a value that the profile promises must come.
  private static func firstValue(
    _ bench: ServerBench, of subscriptions: [Subscription], isPromised: Bool = false
  ) async throws -> [UInt8] {
    let window = window(bench)
    if let value = try await bench.nextValue(within: window / 2) { return value }
    do {
      for value in try await writable(bench, upTo: 8) {
        _ = try await bench.write(other(value.octets), to: value.handle)
        _ = try await bench.write(value.octets, to: value.handle)
      }
    } catch let stop as CaseStop {
      guard case .skipped = stop.outcome else { throw stop }
    }
    if let value = try await bench.nextValue(within: window / 2) { return value }
    let handles = subscriptions.map(\.value.handle)
    for scripted in bench.known.layout?.behaviours ?? []
    where isPromised && handles.contains(scripted.handle.rawValue) {
      guard let period = scripted.behaviour.notifyEvery, period * 2 < window else { continue }
      throw bench.rule.broken(
        "\(scripted.handle) was not sent within \(window), "
          + "though its profile says every \(period)")
    }
    throw CaseStop.skipped("the server sent no value within \(window)")
  }

  private static func check(
    _ bench: ServerBench, _ pdu: [UInt8], belongsTo subscriptions: [Subscription]
  ) throws {
    let found = subscriptions.first { pdu.count > 2 && $0.value.handle == number(pdu[1...]) }
    try bench.check(
      pdu[0] != 0x23, "received several values in one PDU, which this client has not enabled",
      got: pdu)
    try bench.check(pdu.count >= 3, "received \(bench.summary(pdu))", got: pdu)
    try bench.check(
      found != nil, "received \(bench.summary(pdu)), which is not configured", got: pdu)
    try bench.check(
      found?.opcode == pdu[0],
      "received \(bench.summary(pdu)), while the configuration is \(found?.bits ?? 0)", got: pdu)
  }

  private static let configured = Rule(
    "A value is notified if bit 0 of its configuration is set, and indicated if bit 1 is set",
    "Vol 3, Part G, 3.3.3.3")

  /// Values that the server sends by itself.
  static let values: [ServerCase] = [
    ServerCase("notify/values", "values come as they are configured", configured, writes: true) {
      bench in
      for bits: [UInt8] in [[1, 2], [2, 1]] {
        let subscriptions = try await subscribe(bench, bits)
        var pdu: [UInt8]? = try await firstValue(bench, of: subscriptions, isPromised: true)
        for _ in 0..<8 {
          guard let value = pdu else { break }
          try check(bench, value, belongsTo: subscriptions)
          pdu = try await bench.nextValue(within: .milliseconds(200))
        }
        bench.received = []
        try await bench.reconnect()
      }
    },
    ServerCase("notify/one", "only the configured value comes", configured, writes: true) { bench in
      let all = try await subscribe(bench, [1, 2])
      try bench.require(all.count > 1, orSkip: "only one value can be subscribed to")
      let handle = number(try await firstValue(bench, of: all).dropFirst())
      bench.received = []
      try await bench.reconnect()
      let subscriptions = try await subscribe(bench, [1, 2], only: handle)
      var pdu: [UInt8]? = try await firstValue(bench, of: subscriptions)
      for _ in 0..<8 {
        guard let value = pdu else { return }
        try check(bench, value, belongsTo: subscriptions)
        pdu = try await bench.nextValue(within: .milliseconds(200))
      }
    },
    ServerCase(
      "notify/stopped", "no values after the configuration is cleared", configured, writes: true
    ) { bench in
      for bits: [UInt8] in [[1], [2]] {
        let subscriptions: [Subscription]
        do { subscriptions = try await subscribe(bench, bits) } catch let stop as CaseStop {
          guard bits == [1], case .skipped = stop.outcome else { throw stop }
          continue
        }
        let start = bench.links.elapsed
        _ = try await firstValue(bench, of: subscriptions)
        _ = try await bench.nextValue(within: window(bench))
        let period = bench.links.elapsed - start
        for subscription in subscriptions {
          _ = try await bench.write([0, 0], to: subscription.configuration)
        }
        // What was on its way.
        while try await bench.nextValue(within: .milliseconds(50)) != nil {
          guard bench.links.elapsed - start < window(bench) * 4 else { break }
          if bench.links.elapsed - start > period + .milliseconds(400) { break }
        }
        bench.received = []
        let late = try await bench.nextValue(
          within: min(window(bench), period * 2 + .milliseconds(100)))
        try bench.check(
          late == nil, "received \(bench.summary(late ?? [])) after the configuration was cleared",
          got: late)
        try await bench.reconnect()
      }
    },
    ServerCase(
      "notify/clients", "values are for the client that has configured them",
      "Each client has its own configuration, which ends with its link unless there is a bond",
      "Vol 3, Part G, 3.3.3.3", writes: true
    ) { bench in
      let start = bench.links.elapsed
      let subscriptions = try await subscribe(bench, [1, 2])
      _ = try await firstValue(bench, of: subscriptions)
      _ = try await bench.nextValue(within: window(bench))
      let period = min(window(bench), (bench.links.elapsed - start) * 2 + .milliseconds(100))
      bench.received = []
      let served: Void? = try await bench.asSecondClient {
        let other = try await bench.nextValue(within: period)
        try bench.check(
          other == nil, "a second client received \(bench.summary(other ?? []))", got: other)
      }
      await bench.endSecondClient()
      try await bench.reconnect()
      bench.received = []
      try await bench.probe()
      let late = try await bench.nextValue(within: period)
      try bench.check(
        late == nil, "received \(bench.summary(late ?? [])) on a new link", got: late)
      try bench.require(served != nil, orSkip: oneClient)
    },
    ServerCase(
      "indicate/confirmed", "one indication at a time",
      "A server sends the next indication after the confirmation of the last one, and answers requests "
        + "meanwhile", "Vol 3, Part F, 3.3.2 and 3.4.7.2", writes: true
    ) { bench in
      // The first indication may come before the Write Response.
      bench.confirms = false
      let subscriptions = try await subscribe(bench, [2])
      _ = try await firstValue(bench, of: subscriptions)
      try await bench.probe()
      let second = try await bench.nextValue(within: window(bench) / 3)
      try bench.check(
        second == nil, "received \(bench.summary(second ?? [])) before the first was confirmed",
        got: second)
      bench.confirms = true
      try await bench.links.send([0x1E])
    },
    ServerCase(
      "notify/counted", "no value is lost",
      "A server sends every value of a subscribed client", "Vol 3, Part G, 4.10", writes: true
    ) { bench in
      let subscriptions = try await subscribe(bench, [1, 2])
      let end = bench.links.elapsed + window(bench)
      var values: [UInt16: [[UInt8]]] = [:]
      var pdu: [UInt8]? = try await firstValue(bench, of: subscriptions)
      for _ in 0..<500 {
        guard let value = pdu, value.count >= 3 else { break }
        values[number(value[1...]), default: []].append(Array(value[3...]))
        pdu = try await bench.nextValue(within: max(.zero, end - bench.links.elapsed))
      }
      // The values may come faster than a case takes them, and without end. With the link they stop.
      try await bench.reconnect()
      var counted = 0
      for (handle, values) in values.sorted(by: { $0.key < $1.key }) where values.count >= 3 {
        let scripted = bench.known.layout?.behaviours.first { $0.handle.rawValue == handle }
        let length = scripted?.behaviour.counter
        let numbers = values.compactMap { value in
          value.prefix(length ?? 1).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let limit = UInt64.max >> UInt64(64 - 8 * min(8, length ?? 1))
        let steps = zip(numbers, numbers.dropFirst()).map { ($1 &- $0) & limit }
        let right = steps.count { $0 == 1 }
        // Without a profile, a value that nearly always counts is taken for a counter.
        guard length != nil || (steps.count >= 8 && right * 5 >= steps.count * 4) else { continue }
        counted += 1
        guard right < steps.count else { continue }
        let stop = bench.rule.broken(
          "\(steps.count - right) of \(steps.count) values of \(AttributeHandle(handle)) do not follow "
            + "the one before", got: values.last)
        guard length == nil, case .broken(let finding) = stop.outcome else { throw stop }
        bench.links.notes.append(finding)
      }
      try bench.require(counted > 0, orSkip: "no value is known to be a counter")
    },
  ]
}
