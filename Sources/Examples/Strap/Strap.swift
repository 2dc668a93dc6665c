import Atto

/// A heart-rate strap, for any number of clients.
@main struct Strap {
  static func main() async throws {
    let server = LocalServer()
    let heart = try await server.add(
      ServiceDefinition(
        0x180D,
        characteristics: [
          CharacteristicDefinition(0x2A37, properties: .notify),
          CharacteristicDefinition(
            0x2A38, properties: .read, value: .application(ValueLimits(maximumLength: 1))),
          CharacteristicDefinition(
            0x2A39, properties: .write, value: .application(ValueLimits(maximumLength: 1))),
        ]))
    let (rate, location, control) = (
      heart.characteristics[0].value, heart.characteristics[1].value, heart.characteristics[2].value
    )
    // Runs on the loop and must not block. A handler that awaits may take its time: only the client
    // that reads waits for it.
    server.onRead(of: location) { _ in .value([UInt8.random(in: 0...6)]) }
    server.onWrite(of: control) { origin, value in
      value.isEqual(to: [1].span.bytes) ? .accepted : .refused(ErrorCode(0x80))
    }
    var data = AdvertisingData()
    data.localName = "Strap"
    data.serviceUUIDs = [0x180D]
    // The server listens until this is released.
    let listener = try await server.listen(
      on: Endpoint("air:Strap"), advertising: AdvertisingParameters(data),
      onFailure: { print("a client could not be served:", $0) })
    print("listening on", listener.endpoint)
    while true {
      try await server.loop.sleep(for: .seconds(1))
      try await server.notify(rate, [0, .random(in: 60...80)])
    }
  }
}
