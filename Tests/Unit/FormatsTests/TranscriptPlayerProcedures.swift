import AttoATT
import AttoGATT

@testable import AttoFormats

/// The GATT procedure of a `procedure` line, and the text of its result.
struct TranscriptProcedure {
  private let words: [String]
  private let group: SessionGroup
  private let now: Instant

  init(_ words: [String], _ group: SessionGroup, _ now: Instant) {
    self.words = words
    self.group = group
    self.now = now
  }

  /// Starts the procedure and passes the text of its result to `end`. Returns a mistake in the line.
  func begin(_ end: @escaping (String) -> Void) -> String? {
    guard let started = start(end) else { return "no such procedure: \(words)" }
    return started ? nil : "the procedure could not begin: \(words)"
  }

  private func start(_ end: @escaping (String) -> Void) -> Bool? {
    func run<P: Procedure>(_ procedure: P?, _ text: @escaping (P.Output) -> String) -> Bool? {
      guard let procedure else { return nil }
      group.start(TextOperation(procedure, text, end), at: now)
      return true
    }
    func ok<P: Procedure>(_ procedure: P?) -> Bool? where P.Output == Void {
      run(procedure) { _ in "ok" }
    }
    switch (words[0], words.count) {
    case ("exchange-mtu", 2):
      guard let mtu = Int(words[1]) else { return nil }
      let operation = TextOperation(
        ExchangeMTU(clientReceiveMTU: mtu), { "mtu \($0)" }, end)
      group.main.startExchangeMTU(operation, at: now)
      return true
    case ("primary-services", 1...2):
      return run(range(1, or: .all).map { DiscoverPrimaryServices(in: $0) }, Self.services)
    case ("secondary-services", 1): return run(DiscoverSecondaryServices(), Self.services)
    case ("primary-services-by-uuid", 2):
      return run(uuid(1).map { DiscoverPrimaryServicesByUUID($0) }, Self.services)
    case ("includes", 2):
      return run(range(1).map { FindIncludedServices(in: $0) }) { found in
        Self.list(found) { "\($0.handle)=\($0.startHandle)-\($0.endGroupHandle):\($0.uuid)" }
      }
    case ("characteristics", 2):
      return run(range(1).map { DiscoverCharacteristics(in: $0) }, Self.characteristics)
    case ("characteristics-by-uuid", 3):
      guard let uuid = uuid(1), let range = range(2) else { return nil }
      return run(DiscoverCharacteristicsByUUID(uuid, in: range), Self.characteristics)
    case ("descriptors", 2):
      return run(range(1).map { DiscoverDescriptors(in: $0) }) { found in
        Self.list(found) { "\($0.handle)=\($0.uuid)" }
      }
    case ("read", 2):
      return run(handle(1).map { ReadCharacteristicValue($0) }, Self.value)
    case ("read-long", 2...3):
      guard let offset = words.count > 2 ? UInt16(words[2]) : 0 else { return nil }
      return run(handle(1).map { ReadLongValue($0, offset: offset) }, Self.value)
    case ("read-blob", 3):
      guard let handle = handle(1), let offset = UInt16(words[2]) else { return nil }
      return run(ReadBlob(handle, offset: offset), Self.value)
    case ("read-by-uuid", 2...3):
      guard let uuid = uuid(1), let range = range(2, or: .all) else { return nil }
      return run(ReadUsingUUID(uuid, in: range)) { output in
        let values = Self.list(output.values) { "\($0.handle)=\(Self.text($0.octets))" }
        return values + (output.refusal.map { " " + Self.error($0) } ?? "")
      }
    case ("read-multiple", 3...):
      return run(handles().map { ReadMultiple($0) }) { Self.value($0.octets) }
    case ("read-multiple-variable", 3...):
      return run(handles().map { ReadMultipleVariable($0) }) { values in
        "values "
          + values.map { $0.octets.isEmpty ? "-" : Self.text($0.octets) }
          .joined(separator: " ")
      }
    case ("write", 2...3):
      guard let handle = handle(1), let value = octets(2) else { return nil }
      return ok(WriteValue(handle, value: value))
    case ("write-long", 2...3):
      guard let handle = handle(1), let value = octets(2) else { return nil }
      return ok(WriteLongValue(handle, value: value))
    case ("prepare", 3...4):
      guard let handle = handle(1), let offset = UInt16(words[2]), let part = octets(3) else {
        return nil
      }
      return ok(PrepareWrite(handle, offset: offset, part: part))
    case ("execute", 1): return ok(ExecuteWrite(.write))
    case ("cancel", 1): return ok(ExecuteWrite(.cancel))
    case ("reliable-write", 3...):
      guard words.count % 2 == 1 else { return nil }
      var writes: [LongWrite] = []
      for index in stride(from: 1, to: words.count, by: 2) {
        guard let handle = handle(index), let value = octets(index + 1) else { return nil }
        writes.append(LongWrite(handle, value: value))
      }
      return ok(ReliableWrites(writes))
    case ("write-command", 2...3):
      guard let handle = handle(1), let value = octets(2) else { return nil }
      let session = group.session(forCommandsTo: handle)
      return (try? session.writeWithoutResponse(handle, value.span.bytes)) ?? false
    case ("signed-write", 5):
      guard let handle = handle(1), let value = octets(2), let counter = UInt32(words[3]),
        let key = octets(4), key.count == 16
      else { return nil }
      return (try? group.main.writeSigned(handle, value.span.bytes, counter: counter, key: key))
        ?? false
    default: return nil
    }
  }

  // MARK: Arguments

  private func handle(_ index: Int) -> AttributeHandle? { Self.handle(words[index]) }

  private static func handle(_ text: some StringProtocol) -> AttributeHandle? {
    guard text.hasPrefix("0x"), text.utf8.count == 6 else { return nil }
    return Hex.number(text.utf8.dropFirst(2)).map { AttributeHandle(UInt16($0)) }
  }

  private func handles() -> [AttributeHandle]? {
    let handles = words.dropFirst().compactMap { Self.handle($0) }
    return handles.count == words.count - 1 ? handles : nil
  }

  private func range(_ index: Int, or missing: HandleRange? = nil) -> HandleRange? {
    guard index < words.count else { return missing }
    let ends = words[index].split(separator: "-").compactMap { Self.handle($0) }
    return ends.count == 2 ? HandleRange(ends[0], ends[1]) : nil
  }

  private func uuid(_ index: Int) -> BluetoothUUID? { BluetoothUUID(words[index]) }

  /// A missing argument is an empty value.
  private func octets(_ index: Int) -> [UInt8]? {
    index < words.count ? Hex.octets(words[index].utf8, separators: " ") : []
  }

  // MARK: Results

  static func text(_ octets: [UInt8]) -> String { Hex.text(octets) }

  private static func value(_ octets: [UInt8]) -> String {
    octets.isEmpty ? "value" : "value " + text(octets)
  }

  private static func list<E>(_ entries: [E], _ text: (E) -> String) -> String {
    entries.isEmpty ? "none" : entries.map(text).joined(separator: " ")
  }

  private static func services(_ services: [Service]) -> String {
    list(services) { "\($0.handle)-\($0.endGroupHandle)=\($0.uuid)" }
  }

  private static func characteristics(_ characteristics: [Characteristic]) -> String {
    list(characteristics) {
      "\($0.declarationHandle)/\($0.valueHandle)=\($0.uuid):" + text([$0.properties.rawValue])
    }
  }

  static func error(_ error: ErrorResponse) -> String {
    "error 0x\(text([error.code.rawValue]).uppercased()) \(error.handle)"
  }
}

/// A procedure that reports its result as text.
private final class TextOperation<P: Procedure>: ProcedureOperation<P> {
  private let text: (P.Output) -> String
  private let end: (String) -> Void

  init(_ procedure: P, _ text: @escaping (P.Output) -> String, _ end: @escaping (String) -> Void) {
    self.text = text
    self.end = end
    super.init(procedure)
  }

  override func finish(_ result: Result<P.Output, ProcedureError>) {
    switch result {
    case .success(let output): end(text(output))
    case .failure(.refused(let error)): end(TranscriptProcedure.error(error))
    case .failure(.violation), .failure(.limit): end("violation")
    case .failure(.misuse): end("misuse")
    case .failure(.bearer(.transactionTimeout)), .failure(.enhancedBearer(.transactionTimeout)):
      end("timeout")
    case .failure(.bearer), .failure(.enhancedBearer): end("dead")
    case .failure(.cancelled): end("cancelled")
    }
  }
}
