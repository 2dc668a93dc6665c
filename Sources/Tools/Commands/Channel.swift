import Atto
import AttoCommandLine
import AttoPeers
import AttoRadio

/// `atto channel`: an L2CAP channel on standard input and output.
package enum ChannelCommand: Command {
  private static let psm = Option.integer(
    "psm", "N", in: 1...255, "The PSM on which the peer listens, 1 to 255.")
  private static let listen = Option.text(
    "listen", "ENDPOINT",
    "Wait at air:, air:NAME, le: or le:@hciN for a peer that opens a channel.",
    kind: .place)
  private static let encrypted = Option.flag(
    "encrypted", "With --listen: require an encrypted link.")
  private static let close = Option.flag("close", "Close the channel at the end of standard input.")
  private static let timeout = Option.seconds(
    "timeout", default: 30, "How long to wait for the channel to open.")

  package static let description = CommandDescription(
    "channel", "Open an L2CAP channel and copy standard input and output.",
    synopsis: [
      "le:ADDRESS[/random][@hciN] | air:NAME --psm N [OPTIONS]",
      "--listen ENDPOINT [OPTIONS]",
    ],
    arguments: [
      ArgumentDescription(
        name: "PEER", summary: "The peer.", kind: .peer)
    ],
    details: """
      Standard input goes to the peer, and the peer's data to standard output, until either end closes
      the channel. With --listen the command advertises, prints its PSM on standard error, and accepts
      one channel.

      A timed endpoint such as air:NAME?phy=2M paces ATT only, not channels.
      """,
    options: [psm, listen, encrypted, close, timeout],
    timeLimit: .unlimited, delivery: .transfer,
    examples: ["atto channel --listen air:Strap", "atto channel air:Strap --psm 128 < file"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let closesAtEnd = arguments[close]
    if let place = arguments[listen] {
      try arguments.allow(words: 0)
      let radio = try await Radios.open(Endpoint(argument: place), on: loop)
      return try await accept(radio, requiresEncryption: arguments[encrypted], closesAtEnd)
    }
    guard let psm = arguments[psm] else { throw UsageError("give either --psm N or --listen") }
    let peer = try await RadioPeer(arguments, on: loop)
    let waiting = try WaitingNote(connectingTo: Endpoint(arguments.words[0]), on: loop)
    defer { waiting.end() }
    let (channel, link) = try await peer.openChannel(UInt16(psm), timeout: arguments[timeout])
    waiting.end()
    try await copy(channel, closesAtEnd)
    await peer.radio.close()
    withExtendedLifetime(link) {}
  }

  private static func accept(
    _ radio: Adapter, requiresEncryption: Bool, _ closesAtEnd: Bool
  ) async throws {
    let published = try await radio.publishChannel(requiresEncryption: requiresEncryption)
    let advertisement = try await radio.advertise(AdvertisingParameters(AdvertisingData()))
    // The links have no server, but releasing them would close them.
    let retaining = Task(executorPreference: radio.loop.tasks) {
      var links: [ConnectedLink] = []
      for await link in advertisement.links { links.append(link) }
    }
    Terminal.note("listening on PSM \(published.psm) at \(radio.address)")
    for await channel in published.channels {
      published.stop()
      Terminal.note("channel opened by \(channel.peer)")
      try await copy(channel, closesAtEnd)
      break
    }
    advertisement.stop()
    retaining.cancel()
    await radio.close()
  }

  private static func copy(_ channel: Channel, _ closesAtEnd: Bool) async throws {
    let end = AsyncThrowingStream<Void, any Error>.makeStream()
    let copy = ChannelCopy(channel, closesAtEnd: closesAtEnd) {
      end.continuation.finish(throwing: $0)
    }
    copy.start()
    // Ends with the copy or the task's cancellation.
    defer { copy.cancel() }
    for try await _ in end.stream {}
    try Task.checkCancellation()
    // The kernel drops what is unsent when the process exits.
    for _ in 0..<500 where channel.hasUnsent {
      try await channel.loop.sleep(for: .milliseconds(20))
    }
    channel.close()
  }
}
