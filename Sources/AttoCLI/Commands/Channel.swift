import Atto

/// `atto channel`: an L2CAP channel between this process' standard input and output and a peer.
enum ChannelCommand: Command {
  static let name = "channel"
  static let examples = [
    "atto channel --listen air:Strap",
    "atto channel air:Strap --psm 128 < file",
  ]
  static let summary = "Opens an L2CAP channel, or waits for one, and copies octets."
  static let usage =
    "le:ADDRESS[/random][@hciN] | air:NAME --psm N [OPTIONS]\n"
    + "       atto channel --listen [air:[NAME] | le:[@hciN]] [OPTIONS]"
  static let notes =
    "Standard input goes to the peer, what it sends to standard output, until one of the two\n"
    + "closes the channel. With --listen the radio advertises, and the PSM is told on standard\n"
    + "error: one channel is taken."
  static let options = [
    OptionSpec("psm", "N", "where the peer listens, 1 to 255"),
    OptionSpec("listen", nil, "wait for a peer that opens a channel"),
    OptionSpec("encrypted", nil, "with --listen: want an encrypted link"),
    OptionSpec("close", nil, "close the channel at the end of standard input"),
    OptionSpec("timeout", "SECONDS", "give up opening after this time (30)"),
  ]

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let closesAtEnd = arguments.has("close")
    if arguments.has("listen") {
      try arguments.allow(words: 1)
      let endpoint = try await Radios.endpoint(arguments.words.first, on: loop)
      let radio = try await Radios.open(endpoint, on: loop)
      try await listen(radio, arguments.has("encrypted"), closesAtEnd)
      return
    }
    guard let psm = try arguments.integer("psm", in: 1...255) else {
      throw UsageError("--psm N is wanted: where the peer listens; or --listen")
    }
    let timeout = try arguments.duration("timeout") ?? .seconds(30)
    let peer = try await RadioPeer(arguments, on: loop)
    let note = try ConnectingNote(Endpoint(arguments.words[0]), on: loop)
    defer { note.end() }
    let (channel, link) = try await peer.openChannel(UInt16(psm), timeout: timeout)
    note.end()
    try await copy(channel, closesAtEnd)
    await peer.radio.close()
    withExtendedLifetime(link) {}
  }

  private static func listen(
    _ radio: any Adapter, _ isEncrypted: Bool, _ closesAtEnd: Bool
  ) async throws {
    let published = try await radio.publishChannel(requiresEncryption: isEncrypted)
    let advertisement = try await radio.advertise(AdvertisingParameters(AdvertisingData()))
    // Links are not served, but they must stand.
    let keeping = Task(executorPreference: radio.loop.tasks) {
      var links: [ConnectedLink] = []
      for await link in advertisement.links { links.append(link) }
    }
    Terminal.note("PSM \(published.psm) at \(await radio.address)")
    for await channel in published.channels {
      published.stop()
      Terminal.note("opened by \(channel.peer)")
      try await copy(channel, closesAtEnd)
      break
    }
    advertisement.stop()
    keeping.cancel()
    await radio.close()
  }

  private static func copy(_ channel: Channel, _ closesAtEnd: Bool) async throws {
    let loop = channel.loop
    let place = LoopBound(CopyPlace(), loop)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<Void, any Error>) in
        loop.execute {
          let copy = ChannelCopy(channel, closesAtEnd: closesAtEnd) {
            continuation.resume(with: $0)
          }
          place.value.copy = copy
          if place.value.isCancelled { copy.cancel() } else { copy.start() }
        }
      }
    } onCancel: {
      loop.execute {
        place.value.isCancelled = true
        place.value.copy?.cancel()
      }
    }
    // What the process leaves unsent the kernel drops.
    for _ in 0..<500 {
      let isOut = await withCheckedContinuation { continuation in
        loop.execute { continuation.resume(returning: !channel.hasUnsent) }
      }
      if isOut { break }
      try await loop.sleep(for: .milliseconds(20))
    }
    loop.execute { channel.close() }
  }
}

/// The copy that an interruption ends, be it begun or not. The loop's thread only.
private final class CopyPlace {
  var copy: ChannelCopy?
  var isCancelled = false
}
