import Atto
import AttoCommandLine
import AttoPeers
import AttoRadio

extension ScenarioPlan {
  /// Connects, or waits for a peer, and passes the carrier to `body`, with the connection of a GATT client.
  package func carry(
    _ arguments: Arguments, _ connecting: Connecting, on loop: Loop,
    _ body: (any PacketCarrier, Connection?) async throws -> Void
  ) async throws {
    switch (carrier, listens) {
    case (.gatt, false):
      try await connecting.use(on: loop) { connection in
        let mtu = try await connection.mtu
        let size = workload.size
        guard !scenario.sends || size <= min(mtu - 3, 512) else {
          throw UsageError(
            "packets of \(size) octets require an MTU of \(size + 3), but it is \(mtu)",
            hint: "add --mtu \(min(size, 512) + 3), or use a smaller --size")
        }
        try await body(
          GATTClientCarrier(connection, isAcknowledged: isAcknowledged, on: loop), connection)
      }
    case (.gatt, true):
      var options = connecting.options
      if arguments[CommonOptions.mtu] == nil { options.receiveMTU = 517 }
      let served = options
      let carrier = try await GATTServerCarrier(on: loop) { server in
        try await server.listen(
          on: connecting.endpoint,
          options: ListenOptions(connection: served, advertising: Self.advertising))
      }
      defer { carrier.close() }
      try await body(carrier, nil)
    case (.channel, false):
      let peer = try await RadioPeer(arguments, on: loop)
      let waiting = WaitingNote(connectingTo: connecting.endpoint, on: loop)
      defer { waiting.end() }
      let (channel, link) = try await peer.openChannel(psm ?? 128, timeout: timeout)
      waiting.end()
      try await use(channel, body)
      await peer.radio.close()
      withExtendedLifetime(link) {}
    case (.channel, true):
      let radio = try await Radios.open(connecting.endpoint, on: loop)
      let published = try await radio.publishChannel(psm: psm)
      let advertisement = try await radio.advertise(Self.advertising)
      // The links have no server, but releasing them would close them.
      let retaining = Task(executorPreference: loop.tasks) {
        var links: [ConnectedLink] = []
        for await link in advertisement.links { links.append(link) }
      }
      defer { retaining.cancel() }
      Terminal.note("listening on PSM \(published.psm) at \(radio.address)")
      for await channel in published.channels {
        published.stop()
        try await use(channel, body)
        break
      }
      try Task.checkCancellation()
      advertisement.stop()
      await radio.close()
    }
  }

  private func use(
    _ channel: Channel, _ body: (any PacketCarrier, Connection?) async throws -> Void
  ) async throws {
    let carrier = ChannelCarrier(channel)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(carrier, nil))
    } catch {
      result = .failure(error)
    }
    await carrier.close()
    try result.get()
  }

  private static var advertising: AdvertisingParameters {
    var data = AdvertisingData()
    data.localName = "Atto Bench"
    data.serviceUUIDs = [SpeedService.uuid]
    return AdvertisingParameters(data)
  }
}
