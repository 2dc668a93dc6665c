import AttoATT
import AttoGATT

@testable import AttoSimulation

/// A server with a rich database, its model, and an application that answers as the input says.
final class Host {
  let server: Server
  let model: ServerModel
  let application = HostApplication()
  /// The conversation whose session is being called.
  var current: Conversation?
  var conversations: [Conversation] = []
  /// The database has changed within a call of a session.
  private var needsPump = false
  private var serial: UInt8 = 0

  /// Limits that inputs reach.
  static let limits = ServerLimits(
    preparedWritesPerClient: 6, preparedBytesPerClient: 80, preparedBytesShare: 20,
    preparedBytes: 100, clients: 3)

  /// The rich database and its model. Made once: it would be a quarter of the time of an input.
  private static let rich: (database: Database, rows: [ModelRow]) = {
    var database = Database()
    let model = ServerModel(limits: limits)
    for service in RichDatabase.services {
      add(service, model) { () throws(DatabaseError) in try database.add(service) }
    }
    return (database, model.rows)
  }()

  init() {
    server = Server(Self.rich.database, application: application, limits: Self.limits)
    model = ServerModel(limits: Self.limits, rows: Self.rich.rows)
    application.host = self
    model.databaseHash = { [unowned self] in server.databaseHash() }
  }

  // MARK: The database

  private func add(_ service: ServiceDefinition) {
    Self.add(service, model) { () throws(DatabaseError) in try server.add(service) }
  }

  private static func add(
    _ service: ServiceDefinition, _ model: ServerModel,
    to database: () throws(DatabaseError) -> Database.Layout
  ) {
    do throws(DatabaseError) {
      let layout = try database()
      let range = model.add(service)
      Failure.unless(
        layout.range.start.rawValue == range.start && layout.range.end.rawValue == range.end,
        "services are laid out as defined", "\(layout.range), not \(range)")
    } catch {
      Failure.broken("services are laid out as defined", "\(error)")
    }
  }

  /// A service comes or goes, or a value is set.
  func change(_ argument: UInt8) {
    let services = model.rows.filter(\.isService)
    switch argument & 3 {
    case 0, 1:
      guard services.count < 10 else { break }
      let free = AttributeHandle(0x40 + UInt16(argument >> 2 & 7) * 8)
      guard
        !model.rows.contains(where: {
          $0.handle <= free.rawValue + 7 && $0.groupEnd >= free.rawValue
        })
      else { break }
      add(
        ServiceDefinition(
          BluetoothUUID(0xFFC0 + UInt16(argument >> 6)), handle: free,
          characteristics: [
            CharacteristicDefinition(
              0xFF01, properties: [.read, .write, .notify], value: .stored([argument]))
          ]))
    case 2:
      // Those at the beginning stay.
      guard services.count > 3 else { break }
      let start = services[3 + Int(argument >> 2) % (services.count - 3)].handle
      do throws(DatabaseError) {
        try server.remove(service: AttributeHandle(start))
        model.remove(start)
      } catch {
        guard case .included = error else {
          Failure.broken("services are removed", "\(error)")
        }
      }
    default:
      let stored = model.rows.filter { if case .stored = $0.kind { true } else { false } }
      let handle = stored[Int(argument >> 2) % stored.count].handle
      let value = [argument & 4, 0]
      do throws(DatabaseError) {
        try server.setValue(of: AttributeHandle(handle), to: value)
        model.setValue(handle, value)
      } catch {}
    }
    needsPump = true
  }

  /// Sends what a change of the database makes due.
  func pumpIfNeeded() {
    guard needsPump, current == nil else { return }
    needsPump = false
    for conversation in conversations { pump(conversation) }
  }

  /// What one bearer of a client has been told concerns its others.
  func pumpOthers(of conversation: Conversation) {
    for other in conversations where other !== conversation { pump(other) }
  }

  private func pump(_ conversation: Conversation) {
    conversation.call {
      conversation.session.pump(at: conversation.now())
      return .none
    }
  }

  func hasClosed(_ conversation: Conversation) {
    conversations.removeAll { $0 === conversation }
    application.open.removeAll { $0.conversation === conversation }
    if current == nil { pumpOthers(of: conversation) }
  }

  // MARK: Values

  /// A value that this client may be sent so: bit 0 notified, bit 1 indicated.
  func target(_ conversation: Conversation, _ argument: UInt8, _ bit: UInt16) -> AttributeHandle? {
    guard let engine = conversation.engine, let client = conversation.judge.client else {
      return nil
    }
    // A held request may have been answered here, which has configured the value or exchanged ATT_MTU.
    conversation.observe()
    let values = model.rows.filter {
      $0.configuration != nil && $0.type != ModelRow.serviceChanged
    }
    guard !values.isEmpty else { return nil }
    let handle = values[Int(argument) % values.count].handle
    let allowed = server.deliveries(of: AttributeHandle(handle), to: engine).rawValue
    let ought = model.deliveries(of: handle, to: client)
    Failure.unless(
      allowed == ought, "values only to those who asked", "\(handle): \(allowed), not \(ought)")
    return allowed & bit != 0 ? AttributeHandle(handle) : nil
  }

  /// Each value is told from all others.
  func value(_ argument: UInt8) -> [UInt8] {
    serial &+= 1
    return [serial] + [UInt8](repeating: argument, count: Int(argument >> 5) * 12)
  }

  // MARK: After each step

  func check() {
    Failure.unless(
      server.clients.count == model.clients.count && server.clients.count <= Self.limits.clients,
      "clients up to the limit", "\(server.clients.count)")
    Failure.unless(
      server.preparedByteCount == model.preparedBytes
        && server.preparedByteCount
          <= Self.limits.preparedBytes + Self.limits.clients * Self.limits.preparedBytesShare,
      "prepared writes keep their limits", "\(server.preparedByteCount)")
    server.events.removeAll()
    Failure.unless(
      application.open.count <= 8 * 17, "questions are as many as requests",
      "\(application.open.count)")
  }
}

/// The program behind the server, in the hand of the input.
final class HostApplication: Application {
  unowned var host: Host!
  /// Bit 0: answers come later. Bit 1: refused. Bit 2: not authorized. Bit 3: a read is answered
  /// with its part. Bit 4: it notifies while it is asked. Bits 5 to 7: the length of values.
  var manner: UInt8 = 0
  struct Open {
    let question: Question
    let answer: LateAnswer
    unowned let conversation: Conversation
  }
  /// Questions that have been put off.
  var open: [Open] = []

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    switch answer(question, offset) {
    case .value(let value)?: .value(value)
    case .part(let part)?: .part(part)
    case .refused(let code)?: .refused(code)
    case .accepted?: .refused(.unlikelyError)
    case nil: .later
    }
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    given(answer(question))
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    given(answer(question))
  }

  override func authorize(_ question: Question) -> WriteAnswer { given(answer(question)) }

  override func security(of client: ClientID) -> LinkSecurity? {
    host.model.clients.first { $0.id == client }?.security
  }

  private func given(_ answer: LateAnswer?) -> WriteAnswer {
    switch answer {
    case .refused(let code)?: .refused(code)
    case nil: .later
    default: .accepted
    }
  }

  private func answer(_ question: Question, _ offset: Int = 0) -> LateAnswer? {
    guard let conversation = host.current else {
      Failure.broken("questions come from requests", "\(question)")
    }
    let answer = decide(question, offset)
    let isCommand = conversation.judge.commandAnswers != nil
    if !isCommand, manner & 1 != 0 {
      open.append(Open(question: question, answer: answer, conversation: conversation))
      return nil
    }
    if !isCommand, manner & 16 != 0,
      let handle = host.target(conversation, UInt8(question.handle.rawValue & 0xFF), 1)
    {
      conversation.notify(handle, host.value(manner))
    }
    note(answer, question, conversation)
    return answer
  }

  private func decide(_ question: Question, _ offset: Int) -> LateAnswer {
    switch question.kind {
    case .authorizeRead, .authorizeWrite:
      return manner & 4 == 0 ? .accepted : .refused(.insufficientAuthorization)
    case .read:
      if manner & 2 != 0 { return .refused(ErrorCode(0x80)) }
      let length = [0, 1, 19, 22, 23, 60, 300, 600][Int(manner >> 5)]
      let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
      return manner & 8 == 0 ? .value(value) : .part(Array(value.dropFirst(offset)))
    case .write, .writeCommand, .execute:
      return manner & 2 == 0 ? .accepted : .refused(ErrorCode(0x81))
    }
  }

  /// Tells the judge what was answered.
  private func note(_ answer: LateAnswer, _ question: Question, _ conversation: Conversation) {
    let judge = conversation.judge
    let isCommand = judge.commandAnswers != nil
    let entry = ModelAnswers.Entry(
      kind: question.kind, handle: question.handle.rawValue, answer: answer,
      request: isCommand ? 0 : conversation.requestNumber)
    if isCommand { judge.commandAnswers?.append(entry) } else { judge.answers.append(entry) }
  }

  /// Answers one of the questions that were put off.
  func answerLate(_ number: UInt8) {
    guard !open.isEmpty else { return }
    let item = open.remove(at: Int(number) % open.count)
    let conversation = item.conversation
    guard !conversation.isDead else { return }
    note(item.answer, item.question, conversation)
    conversation.call {
      conversation.session.answer(item.question.id, item.answer, at: conversation.now())
      return .none
    }
    host.pumpOthers(of: conversation)
  }
}
