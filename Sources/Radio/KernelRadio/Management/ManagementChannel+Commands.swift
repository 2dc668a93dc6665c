import AttoRadio

extension ManagementChannel {
  /// Sends a command and waits for the answer of the kernel. Called on the loop's thread.
  ///
  /// - Throws: `management` with the status of the answer, `managementSilent`, `system`, or the reason
  ///   why the channel was closed.
  @discardableResult
  nonisolated(nonsending) func command(
    _ opcode: ManagementOpcode, _ index: UInt16 = ManagementFrame.noIndex,
    _ parameters: [UInt8] = []
  ) async throws(RadioError) -> [UInt8] {
    let reply: Reply = await withCheckedContinuation(isolation: #isolation) { continuation in
      send(opcode, index, parameters) { continuation.resume(returning: $0) }
    }
    return try reply.get()
  }

  nonisolated(nonsending) func information(
    _ index: UInt16
  ) async throws(RadioError) -> AdapterInformation {
    let answer = try await command(.readInformation, index)
    guard let information = AdapterInformation(index: index, answer) else {
      throw .managementSilent(.readInformation, adapter: index)
    }
    return information
  }

  /// All adapters that are ready for use, lowest index first.
  nonisolated(nonsending) func adapters() async throws(RadioError) -> [AdapterInformation] {
    let answer = try await command(.readIndexList)
    guard let indexes = Self.numbers(answer) else {
      throw .managementSilent(.readIndexList, adapter: nil)
    }
    var list: [AdapterInformation] = []
    for index in indexes.sorted() {
      do throws(RadioError) {
        list.append(try await information(index))
      } catch .management(_, .invalidIndex, _) {
        // Removed since it was listed.
        continue
      }
    }
    return list
  }

  /// The codes of the commands that this process may use.
  nonisolated(nonsending) func commands() async throws(RadioError) -> Set<UInt16> {
    var reader = ManagementReader(try await command(.readCommands))
    let count: UInt16 = reader.integer()
    _ = reader.octets(2)
    return Set((0..<min(Int(count), reader.rest.count / 2)).map { _ in reader.integer() })
  }

  /// The default parameters of an adapter; nil if the kernel does not tell.
  nonisolated(nonsending) func defaults(_ index: UInt16) async -> AdapterDefaults? {
    (try? await command(.readDefaultConfiguration, index)).map { AdapterDefaults($0) }
  }

  /// A count and so many numbers of 16 bits; nil if there are fewer.
  static func numbers(_ parameters: [UInt8]) -> [UInt16]? {
    var reader = ManagementReader(parameters)
    let count: UInt16 = reader.integer()
    guard reader.rest.count >= Int(count) * 2 else { return nil }
    return (0..<count).map { _ in reader.integer() }
  }
}
