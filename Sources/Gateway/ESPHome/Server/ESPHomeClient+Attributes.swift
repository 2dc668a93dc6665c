import Atto
import AttoATT
import AttoGATT
import AttoGateway
import AttoRadio

/// Attributes.
extension ESPHomeClient {
  func carryOut(_ request: AttributeRequest) {
    guard let handle = request.attribute.map({ UInt16(exactly: $0.handle) ?? 0 }) else {
      // Services.
      return enqueue(request)
    }
    guard handle > 0 else { return fail(request, ESPError(.invalidHandle)) }
    enqueue(request)
  }

  private func enqueue(_ request: AttributeRequest) {
    if !queue(.attribute(request), at: request.address) { fail(request, .notConnected) }
  }

  private func fail(_ request: AttributeRequest, _ error: ESPError) {
    // A client does not wait for the result of these.
    if case .notify(_, false) = request { return }
    if case .write(_, _, withResponse: false) = request { return }
    send(
      AttributeReport.error(
        request.attribute ?? .init(address: request.address), error.rawValue))
  }

  // MARK: The queue of a device

  /// False if the device is not connected.
  func queue(_ request: ProxiedDevice.Request, at address: UInt64) -> Bool {
    guard let device = devices[address], device.isConnected else { return false }
    device.waiting.append(request)
    requests += 1
    guard device.working == nil else { return true }
    let use = device.use
    device.working = Task(executorPreference: loop.tasks) { await self.work(use, at: address) }
    return true
  }

  private func work(_ use: DeviceUse, at address: UInt64) async {
    while let device = device(use, at: address), !device.waiting.isEmpty {
      let request = device.waiting.removeFirst()
      await carryOut(request, use, at: address)
      requests -= 1
      // What waits in the stream may go on.
      carryOut()
    }
    device(use, at: address)?.working = nil
  }

  private func carryOut(
    _ request: ProxiedDevice.Request, _ use: DeviceUse, at address: UInt64
  ) async {
    switch request {
    case .attribute(let request):
      do throws(GatewayError) {
        try await carryOut(request, use)
      } catch {
        guard device(use, at: address) != nil else { return }
        fail(request, ESPError(request: error))
      }
    case .pair:
      var code = ESPError.none
      do throws(GatewayError) { try await use.pair() } catch { code = ESPError(request: error) }
      guard device(use, at: address) != nil else { return }
      send(DeviceReport.paired(address: address, code == .none, error: code.rawValue))
    case .parameters(let minimum, let maximum, let latency, let timeout):
      var code = ESPError.illegalParameter
      if (6...3200).contains(minimum), (minimum...3200).contains(maximum), latency <= 499,
        (10...3200).contains(timeout)
      {
        let parameters = PreferredConnectionParameters(
          interval: minimum...maximum, latency: latency, supervisionTimeout: timeout)
        code = .none
        do throws(GatewayError) {
          try await use.setParameters(parameters)
        } catch {
          code = ESPError(request: error)
        }
      }
      send(DeviceReport.parametersSet(address: address, error: code.rawValue))
    }
  }

  private func carryOut(_ request: AttributeRequest, _ use: DeviceUse) async throws(GatewayError) {
    switch request {
    case .services(let address):
      let database = try await use.database()
      guard device(use, at: address) != nil else { return }
      let isLong = version < 12
      let services = database.services.map { ServiceReport($0, isLong: isLong) }
      for message in ServiceReport.messages(services) {
        send(AttributeReport.services(address: address, message))
      }
      send(AttributeReport.servicesDone(address: address))
    case .read(let attribute):
      let value = try await use.read(attribute.attributeHandle)
      if device(use, at: attribute.address) != nil {
        send(AttributeReport.read(attribute, value))
      }
    case .write(let attribute, let octets, let withResponse):
      try await use.write(octets, to: attribute.attributeHandle, withResponse: withResponse)
      if withResponse { written(attribute, use) }
    case .writeDescriptor(let attribute, let octets):
      // The hub has to know which handles are configurations, also if the client knew them already.
      _ = try await use.database()
      try await use.write(octets, to: attribute.attributeHandle)
      written(attribute, use)
    case .notify(let attribute, let isOn):
      try await notify(attribute, isOn, use)
    }
  }

  private func written(_ attribute: AttributeRequest.Attribute, _ use: DeviceUse) {
    if device(use, at: attribute.address) != nil { send(AttributeReport.written(attribute)) }
  }

  // MARK: Values

  /// Passes values on, or no longer. The device begins to send them when the client writes the
  /// configuration, and ends when nobody wants them.
  private func notify(
    _ attribute: AttributeRequest.Attribute, _ isOn: Bool, _ use: DeviceUse
  ) async throws(GatewayError) {
    let handle = attribute.attributeHandle
    guard isOn else {
      device(use, at: attribute.address)?.notifying.remove(handle.rawValue)
      return try await use.unsubscribe(handle)
    }
    let database = try await use.database()
    guard database.characteristic(valueHandle: handle) != nil else {
      throw .unknownCharacteristic(device: "", "\(handle)")
    }
    guard let device = device(use, at: attribute.address) else { return }
    device.notifying.insert(handle.rawValue)
    send(AttributeReport.notifying(attribute))
  }

  func pass(_ octets: [UInt8], of handle: UInt16, _ use: DeviceUse, at address: UInt64) {
    guard let device = device(use, at: address), device.notifying.contains(handle) else { return }
    send(AttributeReport.value(.init(address: address, handle: UInt32(handle)), octets))
  }
}

extension AttributeRequest {
  /// Nil for a request that is about all of them.
  var attribute: Attribute? {
    switch self {
    case .services: nil
    case .read(let attribute), .write(let attribute, _, _), .writeDescriptor(let attribute, _),
      .notify(let attribute, _):
      attribute
    }
  }

  var address: UInt64 {
    if case .services(let address) = self { address } else { attribute?.address ?? 0 }
  }
}

extension AttributeRequest.Attribute {
  var attributeHandle: AttributeHandle { AttributeHandle(UInt16(exactly: handle) ?? 0) }
}
