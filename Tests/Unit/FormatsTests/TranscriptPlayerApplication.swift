import AttoATT
import AttoGATT

@testable import AttoFormats

/// Carries out the behaviours of a profile for one client, in virtual time.
final class ProfileApplication: Application {
  /// Set before the first request.
  unowned var group: SessionGroup!
  var deliveries: (AttributeHandle) -> ClientCharacteristicConfiguration = { _ in [] }
  var now = Instant.zero

  private let behaviours: [AttributeHandle: ProfileLayout.ScriptedValue]
  private var values: [AttributeHandle: [UInt8]] = [:]
  /// Delayed answers.
  private var delayed: [(at: Instant, QuestionID, LateAnswer)] = []
  /// Periodic notifications and indications.
  private var ticks: [(at: Instant, AttributeHandle, every: Duration, indicates: Bool)] = []

  init(_ behaviours: [ProfileLayout.ScriptedValue]) {
    self.behaviours = Dictionary(uniqueKeysWithValues: behaviours.map { ($0.handle, $0) })
    for behaved in behaviours {
      values[behaved.handle] = behaved.value
      if let every = behaved.behaviour.notifyEvery {
        ticks.append((.zero + every, behaved.handle, every, false))
      }
      if let every = behaved.behaviour.indicateEvery {
        ticks.append((.zero + every, behaved.handle, every, true))
      }
    }
  }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    guard let behaved = behaviours[question.handle] else { return .refused(.unlikelyError) }
    if let code = behaved.behaviour.readError { return .refused(code) }
    let value = values[question.handle] ?? []
    if let delay = behaved.behaviour.delay {
      delayed.append((now + delay, question.id, .value(value)))
      return .later
    }
    return .value(value)
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    guard let behaved = behaviours[question.handle] else { return .refused(.unlikelyError) }
    if let code = behaved.behaviour.writeError { return .refused(code) }
    if !behaved.behaviour.isSink { values[question.handle] = value.owned }
    if let echo = behaved.echo { deliver(value.owned, at: echo) }
    if let delay = behaved.behaviour.delay {
      delayed.append((now + delay, question.id, .accepted))
      return .later
    }
    return .accepted
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    for write in writes {
      if let code = behaviours[write.handle]?.behaviour.writeError { return .refused(code) }
    }
    return .accepted
  }

  func configured(_ value: AttributeHandle, _ configuration: ClientCharacteristicConfiguration) {
    guard configuration.contains(.notification),
      let burst = behaviours[value]?.behaviour.burst, burst.trigger == .subscribe
    else { return }
    let session = group.session(forValuesOf: value)
    for number in 0..<burst.count {
      _ = session.notify(
        value,
        Profile.Burst.value(
          UInt32(number), size: min(burst.size, session.bearer.mtu - 3)
        ).span.bytes)
    }
  }

  private func deliver(_ value: [UInt8], at handle: AttributeHandle) {
    let session = group.session(forValuesOf: handle)
    if deliveries(handle).contains(.notification) {
      _ = session.notify(handle, value.span.bytes)
    } else if deliveries(handle).contains(.indication) {
      _ = try? session.indicate(handle, value, at: now)
    }
  }

  // MARK: Time

  var nextMoment: Instant? { (delayed.map(\.at) + ticks.map(\.at)).min() }

  func happen() {
    let due = delayed.filter { $0.at <= now }
    delayed.removeAll { $0.at <= now }
    for (_, question, answer) in due { _ = group.answer(question, answer, at: now) }
    for index in ticks.indices where ticks[index].at <= now {
      let tick = ticks[index]
      ticks[index].at = tick.at + tick.every
      let value = values[tick.1] ?? []
      let wanted = deliveries(tick.1)
      guard !wanted.isEmpty else { continue }
      let session = group.session(forValuesOf: tick.1)
      if tick.indicates, wanted.contains(.indication) {
        _ = try? session.indicate(tick.1, value, at: now)
      } else if !tick.indicates, wanted.contains(.notification) {
        _ = session.notify(tick.1, value.span.bytes)
      }
    }
  }
}
