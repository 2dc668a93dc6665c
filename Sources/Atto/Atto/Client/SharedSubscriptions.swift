import AttoATT
import AttoEventLoop
import AttoGATT

/// The Client Characteristic Configurations of one peer, which the users of its link share.
///
/// # Theory
/// A peer keeps one configuration of a characteristic for a client. Vol 3, Part G, 3.3.3.3. A client
/// with several users writes the union of what they want.
///
/// What a user wants is noted at once. Then the union is compared with what the peer was told, and
/// written if it differs. There is one write of a configuration at a time: of two under way the older
/// one could be carried out last. Whoever comes during a write waits for its end and compares then,
/// so the last write has the last union, and nothing is written that the peer knows.
///
/// A failed write concerns the user that asked for it, which then wants what it wanted before: a
/// subscription whose end the peer refuses goes on. A user whose task is cancelled does not wait for
/// the end of the write; the peer is told the rest later.
///
/// On a new link the peer has been told nothing, even if it remembers: what users want is written
/// again. Without a link it is only noted.
///
/// An actor on the loop of the connections: users there call it at once with `here`.
package actor SharedSubscriptions<User: Hashable & Sendable> {
  /// Writes a configuration to the attribute with this handle.
  package typealias Write =
    @Sendable (
      Connection, ClientCharacteristicConfiguration, AttributeHandle
    ) async throws(AttoError) -> Void

  @usableFromInline struct Entry {
    var configuration: AttributeHandle
    /// What each user wants; nothing, as long as the end of a subscription is being written.
    @usableFromInline var wanted: [User: ClientCharacteristicConfiguration] = [:]
    /// What the peer was told on this link; nil if it is to be told anyway.
    var written: ClientCharacteristicConfiguration? = []
    /// The write that is under way.
    var write: (number: UInt64, union: ClientCharacteristicConfiguration)?

    var union: ClientCharacteristicConfiguration {
      wanted.values.reduce(into: []) { $0.formUnion($1) }
    }
  }

  @usableFromInline final class Table {
    @usableFromInline var entries: [AttributeHandle: Entry] = [:]
  }

  private let loop: Loop
  /// Apart from the actor, so that each value that arrives looks here without a closure.
  @usableFromInline nonisolated let table: LoopBound<Table>
  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }
  private var connection: Connection?
  private var entries: [AttributeHandle: Entry] {
    get { table.value.entries }
    set { table.value.entries = newValue }
  }
  private var lastWrite: UInt64 = 0
  /// The callers that wait for the end of a write, by its number.
  private let ends = WaiterList<UInt64, AttoError?, AttoError>()

  /// - Parameter connection: the link that there is, on which the peer was told nothing yet.
  package init(on loop: Loop, _ connection: Connection? = nil) {
    self.loop = loop
    self.connection = connection
    table = LoopBound(Table(), loop)
  }

  // MARK: Users

  /// What each user wants of a value. A user that is ending its subscription wants nothing, and is
  /// among them until the peer knows. Traps off the loop's thread.
  @inlinable package nonisolated func users(
    of value: AttributeHandle
  ) -> [User: ClientCharacteristicConfiguration] {
    table.value.entries[value]?.wanted ?? [:]
  }

  /// The handle of the Client Characteristic Configuration of a value with users.
  package func configuration(of value: AttributeHandle) -> AttributeHandle? {
    entries[value]?.configuration
  }

  /// Sets what a user wants of a value, and has the peer know.
  ///
  /// - Parameters:
  ///   - wanted: nothing ends the subscription.
  ///   - configuration: the handle of the Client Characteristic Configuration.
  ///   - isRepeated: whether the peer is told even what it was told before.
  ///   - write: how it is written; a Write Request as a default.
  /// - Throws: what `write` throws.
  package func set(
    _ wanted: ClientCharacteristicConfiguration, of value: AttributeHandle,
    at configuration: AttributeHandle, for user: User, isRepeated: Bool = false,
    by write: @escaping Write = writeRequest
  ) async throws(AttoError) {
    if wanted.isEmpty, !isRepeated, entries[value]?.wanted[user] == nil { return }
    var entry = entries[value] ?? Entry(configuration: configuration)
    if entry.configuration != configuration {
      // The peer's database has changed.
      (entry.configuration, entry.written) = (configuration, [])
    }
    if isRepeated { entry.written = nil }
    let before = entry.wanted.updateValue(wanted, forKey: user)
    entries[value] = entry
    do throws(AttoError) {
      try await tell(value, write)
      if wanted.isEmpty { put(nil, of: value, for: user, insteadOf: wanted) }
    } catch {
      let isRefused = if case .refused = error { true } else { false }
      put(
        wanted.isEmpty && !isRefused ? nil : before, of: value, for: user, insteadOf: wanted)
      if error.isCancellation { tellLater([value]) }
      throw error
    }
  }

  /// Notes what a user wants after a write, unless it wants something else by now, or has left.
  private func put(
    _ wanted: ClientCharacteristicConfiguration?, of value: AttributeHandle, for user: User,
    insteadOf written: ClientCharacteristicConfiguration
  ) {
    if entries[value]?.wanted[user] == written { entries[value]?.wanted[user] = wanted }
    removeUnused(value)
  }

  /// Ends all subscriptions of a user at once.
  ///
  /// - Returns: the task that tells the peer, as far as that answers; also of a subscription that the
  ///   user gave up as it was being written.
  @discardableResult
  package func leave(_ user: User) -> Task<Void, Never> {
    var changed: [AttributeHandle] = []
    for value in entries.keys {
      entries[value]?.wanted[user] = nil
      removeUnused(value)
      if let entry = entries[value], entry.union != entry.write?.union ?? entry.written {
        changed.append(value)
      }
    }
    return tellLater(changed.sorted())
  }

  // MARK: Links

  /// There is a new link.
  package func begin(_ connection: Connection) { self.connection = connection }

  /// Writes on a new link what users want.
  ///
  /// - Returns: what the peer has refused, which is forgotten.
  package func repeatAll() async -> [(value: AttributeHandle, response: ErrorResponse)] {
    var refused: [(value: AttributeHandle, response: ErrorResponse)] = []
    for value in entries.keys.sorted() {
      do throws(AttoError) {
        try await tell(value, Self.writeRequest)
      } catch .refused(let response) {
        refused.append((value, response))
        entries[value] = nil
      } catch {
        break
      }
    }
    return refused
  }

  /// The link has ended.
  ///
  /// - Parameter isForgetting: false: what users want stays for the next link.
  package func end(forgetting isForgetting: Bool = false) {
    connection = nil
    if isForgetting { entries = [:] }
    for value in entries.keys {
      entries[value]?.written = []
      removeUnused(value)
    }
  }

  // MARK: Writing

  @Sendable package static func writeRequest(
    _ connection: Connection, _ wanted: ClientCharacteristicConfiguration,
    _ handle: AttributeHandle
  ) async throws(AttoError) {
    try await connection.write(wanted.octets, to: handle)
  }

  /// Writes the union, unless the peer knows it. A change that comes during the write is written by
  /// whoever made it.
  private func tell(_ value: AttributeHandle, _ write: @escaping Write) async throws(AttoError) {
    var isOthers = true
    repeat {
      let failure = try await loop.withLocalWaiter { (waiter: Waiter<AttoError?, AttoError>) in
        if let write = entries[value]?.write { return ends.append(waiter, for: write.number) }
        isOthers = false
        guard let entry = entries[value], let connection, entry.union != entry.written else {
          return waiter.resume(.success(nil))
        }
        ends.append(waiter, for: begin(entry, of: value, connection, write))
      }
      if !isOthers, let failure { throw failure }
    } while isOthers
  }

  /// Returns the number of the write. It is not cancelled with the caller: others may wait for it.
  private func begin(
    _ entry: Entry, of value: AttributeHandle, _ connection: Connection, _ write: @escaping Write
  ) -> UInt64 {
    lastWrite += 1
    let (number, union) = (lastWrite, entry.union)
    entries[value]?.write = (number, union)
    Task(executorPreference: loop.tasks) {
      let failure: AttoError?
      do throws(AttoError) {
        try await write(connection, union, entry.configuration)
        failure = nil
      } catch {
        failure = error
      }
      await self.ended(number, union, of: value, connection, failure)
    }
    return number
  }

  private func ended(
    _ number: UInt64, _ union: ClientCharacteristicConfiguration, of value: AttributeHandle,
    _ connection: Connection, _ failure: AttoError?
  ) {
    if entries[value]?.write?.number == number {
      entries[value]?.write = nil
      // Another link by now has been told nothing.
      if failure == nil, connection === self.connection { entries[value]?.written = union }
    }
    ends.resume(.success(failure)) { $0 == number }
  }

  @discardableResult private func tellLater(_ values: [AttributeHandle]) -> Task<Void, Never> {
    Task(executorPreference: loop.tasks) {
      for value in values {
        try? await self.tell(value, Self.writeRequest)
        await self.removeUnused(value)
      }
    }
  }

  /// Forgets a value that nobody wants, unless the peer still has to be told.
  private func removeUnused(_ value: AttributeHandle) {
    guard let entry = entries[value], entry.wanted.isEmpty, entry.write == nil,
      entry.written?.isEmpty ?? true
    else { return }
    entries[value] = nil
  }
}
