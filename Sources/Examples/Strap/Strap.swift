import Atto

/// A heart-rate strap, for any number of clients.
@main struct Strap {
  static func main() async throws {
    let server = LocalServer()
    let heart = try await server.add(
      ServiceDefinition(
        .heartRate,
        characteristics: [
          CharacteristicDefinition(.heartRateMeasurement, properties: .notify),
          CharacteristicDefinition(
            .bodySensorLocation, properties: .read,
            value: .application(ValueLimits(maximumLength: 1))),
          CharacteristicDefinition(
            .heartRateControlPoint, properties: .write,
            value: .application(ValueLimits(maximumLength: 1))),
        ]))
    // Runs on the loop and must not block. A handler that awaits may take its time: only the client
    // that reads waits for it.
    server.onRead(of: heart[.bodySensorLocation].valueHandle) { _ in
      .value([UInt8.random(in: 0...6)])
    }
    server.onWrite(of: heart[.heartRateControlPoint].valueHandle) { origin, value in
      value.isEqual(to: [1].span.bytes) ? .accepted : .refused(ErrorCode(0x80))
    }
    var data = AdvertisingData()
    data.localName = "Strap"
    data.serviceUUIDs = [.heartRate]
    // The server listens until this is released.
    let listener = try await server.listen(
      on: Endpoint("air:Strap"), advertising: AdvertisingParameters(data),
      onFailure: { print("a client could not be served:", $0) })
    print("listening on", listener.endpoint)
    let rate = heart[.heartRateMeasurement].valueHandle
    while true {
      try await server.loop.sleep(for: .seconds(1))
      try await server.notify([0, .random(in: 60...80)], of: rate)
    }
  }
}
