import Atto
import AttoCommandLine
import AttoGATT
import AttoPeers
import AttoRadio

/// `atto subscribe`: notifications and indications. Vol 3, Part G, 4.10 and 4.11.
package struct SubscribeCommand: ConnectionCommand {
  private static let indicate = Option.flag(
    "indicate", "Subscribe to indications instead of notifications.")
  private static let notify = Option.flag(
    "notify", "Subscribe to notifications, the default; with --indicate, to both.")
  private static let count = Option.integer("count", "N", in: 1...Int.max, "End after N values.")
  private static let time = Option.seconds("for", "End after this time.")
  private static let resume = Option.flag(
    "resume", "Write nothing: the peer remembers the subscription of a bonded client.")
  private static let cccd = Option.handle(
    "cccd", "The Client Characteristic Configuration, instead of looking for it.")
  private static let showsTime = Option.flag(
    "time", "Show when each value was received: the time of day, in JSON the seconds since 1970.")

  package static let description = CommandDescription(
    "subscribe", "Subscribe to values and print what the server sends.",
    synopsis: ["ENDPOINT HANDLE... [OPTIONS]"], arguments: [.endpoint, .handles],
    details: """
      HANDLE is the handle of the characteristic's value; for that of its declaration, the command uses
      the value's. It finds the Client Characteristic Configuration with Find Information, writes it, and
      clears it at the end; in a session, once no other command subscribes. A characteristic that is
      given by its UUID and has only one of both kinds is subscribed to with that one. With --resume the
      command sends nothing and prints the values of HANDLE that arrive.
      """,
    options: [indicate, notify, count, time, resume, cccd, showsTime], groups: Connecting.options,
    timeLimit: .open(unless: [count, time]),
    examples: [
      "atto subscribe air:Strap 2A37 --count 3", "atto subscribe air:Strap 0x0012 2A19 --time",
      "atto subscribe le:AA:BB:CC:DD:EE:FF 0x0020 --indicate --for 60 --json",
      "atto subscribe le:AA:BB:CC:DD:EE:FF@hci0 0x0012 --resume --security medium",
    ])

  private let references: [AttributeReference]
  private let configuration: AttributeHandle?
  private let kind: ClientCharacteristicConfiguration
  private let isResuming: Bool
  private let limit: Int?
  private let time: Duration?
  private let showsTime: Bool

  /// A value to subscribe to.
  private struct Subscription {
    var value: AttributeHandle
    /// nil to write nothing.
    var configuration: AttributeHandle?
    var kind: ClientCharacteristicConfiguration
    var type: BluetoothUUID?
    /// Whether the characteristic's properties are not known: HANDLE is a handle.
    var isAssumed = false

    static let indicates = "a characteristic that only indicates needs --indicate"

    /// The server's refusal with a hint, if the other kind of value may be the one that it has.
    func hinted(_ error: any Error) -> any Error {
      guard isAssumed, case AttoError.refused(let response) = error,
        [.valueNotAllowed, .cccdImproperlyConfigured].contains(response.code)
      else { return error }
      return HintedFailure(
        error,
        hint: kind == .indication
          ? "a characteristic that only notifies takes no --indicate" : Self.indicates)
    }
  }

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    _ = try arguments.operand(0, "HANDLE")
    references = try arguments.operands.map { text in
      let reference = try AttributeReference(argument: text)
      // There is nothing to find at 0x0000.
      if reference.handle?.isValid == false { _ = try AttributeHandle(argument: text) }
      return reference
    }
    configuration = arguments[Self.cccd]
    switch (arguments[Self.notify], arguments[Self.indicate]) {
    case (true, true): kind = [.notification, .indication]
    case (false, true): kind = .indication
    case (_, false): kind = .notification
    }
    (limit, time, isResuming) = (
      arguments[Self.count], arguments[Self.time], arguments[Self.resume]
    )
    showsTime = arguments[Self.showsTime]
    if isResuming {
      try arguments.forbid(
        [Self.indicate, Self.notify, Self.cccd], "cannot be combined with --resume")
    }
    if references.count > 1 { try arguments.forbid([Self.cccd], "requires exactly one handle") }
  }

  package func run(on peer: ConnectedPeer) async throws {
    let (connection, loop) = (peer.connection, peer.loop)
    // Values of an earlier subscription may arrive before the attribute is found.
    let early = isResuming ? try await connection.values() : nil
    var subscriptions: [Subscription] = []
    for reference in references {
      subscriptions.append(try await subscription(try await peer.find(reference), connection))
    }
    let types = Dictionary(
      subscriptions.map { ($0.value, $0.type) }, uniquingKeysWith: { first, _ in first })
    // Values may arrive before the response to the write.
    let values =
      if let early {
        early
      } else {
        try await connection.values(of: types.count == 1 ? subscriptions[0].value : nil)
      }
    let user = UInt64.random(in: .min ... .max)
    do {
      for subscription in subscriptions {
        guard let configuration = subscription.configuration else { continue }
        do throws(AttoError) {
          // Also if another command has told the peer: who types this may have written something else.
          try await peer.subscriptions.set(
            subscription.kind, of: configuration, at: configuration, for: user, isRepeated: true)
        } catch {
          throw subscription.hinted(error)
        }
      }
    } catch {
      await unsubscribe(peer, user)
      throw error
    }
    await peer.begun()
    let names = types.keys.sorted().map(\.description).joined(separator: ", ")
    let waiting =
      peer.place == nil
      ? WaitingNote(
        "waiting for values of \(names): none received yet (Ctrl-C ends the command)",
        hint: subscriptions.contains { $0.isAssumed && $0.kind == .notification }
          ? Subscription.indicates : nil, on: loop)
      : nil
    defer { waiting?.end() }
    let longest = try await connection.mtu - 3
    let reading = Task(executorPreference: loop.tasks) {
      try await show(values, types, longest: longest, peer) { waiting?.end() }
    }
    let alarm = loop.after(time) { reading.cancel() }
    defer { alarm.cancel() }
    let count = try await reading.valueOrCancel
    await unsubscribe(peer, user)
    if let limit, count < limit {
      throw CheckFailure(message: "received \(count) of \(limit) values")
    }
  }

  /// Finds the configuration of a value.
  private func subscription(
    _ found: FoundAttribute, _ connection: Connection
  ) async throws -> Subscription {
    var subscription = Subscription(
      value: found.handle, configuration: configuration, kind: kind, type: found.uuid)
    if let properties = found.properties {
      switch (properties.contains(.notify), properties.contains(.indicate)) {
      case (false, true): subscription.kind = .indication
      case (true, false) where kind.contains(.notification): subscription.kind = .notification
      default: break
      }
    }
    subscription.isAssumed = found.properties == nil
    if isResuming || configuration != nil { return subscription }
    if let search = FindConfiguration(of: found.handle),
      let output = try await connection.perform(search)
    {
      subscription.value = output.value
      subscription.configuration = output.configuration
      subscription.type = output.type
    }
    guard subscription.configuration != nil else {
      throw AttoError.misuse(.cannotSubscribe(found.handle))
    }
    if subscription.value != found.handle {
      Terminal.note(
        "\(found.handle) is a declaration: subscribing to its value, \(subscription.value)")
    }
    return subscription
  }

  /// Shows values up to the limit or until the task is cancelled. Returns their number.
  private func show(
    _ values: ReceivedValues, _ types: [AttributeHandle: BluetoothUUID?], longest: Int,
    _ peer: ConnectedPeer, whenFirst: @Sendable () -> Void
  ) async throws -> Int {
    var count = 0
    var others: Set<AttributeHandle> = []
    do throws(AttoError) {
      for try await value in values {
        guard let type = types[value.handle] else {
          // HANDLE may be that of a declaration: a command that resumes does not ask.
          if isResuming, others.count < 16, others.insert(value.handle).inserted {
            Terminal.note("values of \(value.handle) arrive too, and are not shown")
          }
          continue
        }
        if count == 0 { whenFirst() }
        let shown = ShownValue(value.value, of: type, isCut: value.value.count >= longest)
        await peer.received(value)
        show(value, shown, peer.results)
        await Terminal.room()
        count += 1
        if count == limit { break }
      }
    } catch {
      guard error == .cancelled else { throw error }
    }
    return count
  }

  private func show(_ value: ReceivedValue, _ shown: ShownValue, _ results: Results) {
    if !results.isJSON, value.missed > 0 {
      Terminal.note("warning: \(Shown.count(value.missed, "value")) lost here")
    }
    let time = showsTime ? TimeOfDay.microseconds(of: value.time) : nil
    results.print(
      (time.map { TimeOfDay.text($0) + "  " } ?? "") + "\(value.handle)  \(shown.text)",
      json: shown.json.adding([
        "handle": Shown.json(value.handle), "indication": value.isIndication,
        "missed": value.missed > 0 ? value.missed : nil, "time": time.map { Double($0) / 1e6 },
      ]))
  }

  /// Ends the subscriptions, also when the caller is cancelled. An error is ignored, and a server that
  /// does not respond is given one second.
  private func unsubscribe(_ peer: ConnectedPeer, _ user: UInt64) async {
    let alarm = peer.loop.after(.seconds(1)) { peer.connection.close() }
    // What other commands of a session have subscribed to stays.
    await peer.subscriptions.leave(user).value
    alarm.cancel()
  }
}
