import AttoATT
import AttoGATT

/// The application of a simulated server. It answers immediately, later, too late or with an error,
/// and sometimes uses the session or changes the database while it is asked.
final class SimulatedApplication: Application {
  unowned var device: Device!
  private var simulator: Simulator { device.simulator }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    switch answer(question, offset: offset) {
    case .value(let value)?: .value(value)
    case .part(let part)?: .part(part)
    case .refused(let code)?: .refused(code)
    case .accepted?: .refused(.unlikelyError)
    case nil: .later
    }
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    let octets = value.owned
    return given(answer(question) { self.device.values[question.handle.rawValue] = octets })
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    given(
      answer(question) {
        for write in writes { self.device.values[write.handle.rawValue] = write.part }
      })
  }

  override func authorize(_ question: Question) -> WriteAnswer { given(answer(question)) }

  override func security(of client: ClientID) -> LinkSecurity? {
    device.connections.first { $0.client(of: device)?.engine.id == client }?.security
  }

  private func given(_ answer: LateAnswer?) -> WriteAnswer {
    switch answer {
    case .refused(let code)?: .refused(code)
    case nil: .later
    default: .accepted
    }
  }

  /// Chooses an answer; nil for a late one.
  private func answer(
    _ question: Question, offset: Int = 0, _ effect: @escaping () -> Void = {}
  ) -> LateAnswer? {
    guard let end = device.current else {
      simulator.fail("questions come from requests", "\(device.name): \(question)")
      return .refused(.unlikelyError)
    }
    let isCommand = end.judge.commandAnswers != nil
    let answer = decide(question, offset)
    if !isCommand, simulator.plan.hazards.contains(.slowHandlers), simulator.random.chance(0.4) {
      simulator.answerLater(question.id, answer, end, question, effect)
      return nil
    }
    var changed = false
    if !isCommand, simulator.plan.hazards.contains(.reentrance) {
      changed = reenter(end)
    }
    note(answer, question, end, changed)
    effect()
    return answer
  }

  /// Reports an answer to the judge.
  func note(_ answer: LateAnswer, _ question: Question, _ end: LinkEnd, _ changed: Bool = false) {
    let entry = ModelAnswers.Entry(
      kind: question.kind, handle: question.handle.rawValue, answer: answer,
      changedDatabase: changed, request: end.judge.commandAnswers == nil ? end.requestNumber : 0)
    if end.judge.commandAnswers != nil {
      end.judge.commandAnswers?.append(entry)
    } else {
      end.judge.answers.append(entry)
    }
  }

  private func decide(_ question: Question, _ offset: Int) -> LateAnswer {
    switch question.kind {
    case .read:
      if simulator.random.chance(0.1) { return .refused(ErrorCode(0x80)) }
      let value = device.values[question.handle.rawValue] ?? simulator.someOctets(600)
      device.values[question.handle.rawValue] = value
      if simulator.random.chance(0.2) { return .part(Array(value.dropFirst(offset))) }
      if simulator.random.chance(0.02) { return .accepted }
      return .value(value)
    case .authorizeRead, .authorizeWrite:
      return simulator.random.chance(0.7) ? .accepted : .refused(.insufficientAuthorization)
    case .write, .writeCommand, .execute:
      return simulator.random.chance(0.85) ? .accepted : .refused(ErrorCode(0x81))
    }
  }

  /// Does what handlers may do while they are asked. Returns whether the database has changed.
  private func reenter(_ end: LinkEnd) -> Bool {
    let plan = simulator.plan.hazards
    switch simulator.random.below(8) {
    case 0: simulator.notify(end)
    case 1: simulator.indicate(end)
    case 2:
      guard plan.contains(.databaseChanges), device.model?.rows.last?.groupEnd ?? 0 < 0xFFC0
      else { break }
      device.add(simulator.someService(of: device, at: nil))
      device.needsPump = true
      return true
    case 3: simulator.startSomething(end)
    case 4:
      guard plan.contains(.losses), simulator.random.chance(0.2) else { break }
      simulator.note { "\(end.name) closes from within" }
      end.side.main.end()
    default: break
    }
    return false
  }
}
