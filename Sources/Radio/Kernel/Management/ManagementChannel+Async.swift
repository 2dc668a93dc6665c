extension ManagementChannel {
  /// Has the kernel do something and waits for its answer, on the loop.
  ///
  /// - Throws: `management` with the kernel's status, `managementSilent`, `closed`, `system`.
  @discardableResult
  func command(
    _ opcode: ManagementOpcode, _ index: UInt16 = ManagementFrame.noIndex,
    _ parameters: [UInt8] = [], patience: Duration? = ManagementChannel.patience,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(RadioError) -> [UInt8] {
    let reply: Reply = await withCheckedContinuation(isolation: isolation) { continuation in
      send(opcode, index, parameters, patience: patience) { continuation.resume(returning: $0) }
    }
    return try reply.get()
  }

  /// The state of an adapter.
  func information(
    _ index: UInt16, isolation: isolated (any Actor)? = #isolation
  ) async throws(RadioError) -> AdapterInformation {
    let answer = try await command(.readInformation, index)
    guard let information = AdapterInformation(index: index, answer) else {
      throw .managementSilent(.readInformation, adapter: index)
    }
    return information
  }

  /// All adapters that are ready for use, lowest index first.
  func adapters(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(RadioError) -> [AdapterInformation] {
    let answer = try await command(.readIndexList)
    guard let indexes = Self.numbers(answer) else {
      throw .managementSilent(.readIndexList, adapter: nil)
    }
    var list: [AdapterInformation] = []
    for index in indexes.sorted() {
      do throws(RadioError) {
        list.append(try await information(index))
      } catch .management(_, .invalidIndex, _) {
        // Unplugged since it was listed.
        continue
      }
    }
    return list
  }

  /// What this process may have the kernel do.
  func commands(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(RadioError) -> Set<ManagementOpcode> {
    var reader = ManagementReader(try await command(.readCommands))
    let count: UInt16 = reader.integer()
    _ = reader.octets(2)
    var commands: Set<ManagementOpcode> = []
    for _ in 0..<min(Int(count), reader.rest.count / 2) {
      commands.insert(ManagementOpcode(rawValue: reader.integer()))
    }
    return commands
  }

  /// A count and so many numbers of 16 bits; nil if there are fewer.
  static func numbers(_ parameters: [UInt8]) -> [UInt16]? {
    var reader = ManagementReader(parameters)
    let count: UInt16 = reader.integer()
    guard reader.rest.count >= Int(count) * 2 else { return nil }
    return (0..<count).map { _ in reader.integer() }
  }
}
