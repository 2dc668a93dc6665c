import Atto
import AttoEventLoop
import AttoGateway
import AttoLinks
import AttoRadio

/// Connections.
extension ESPHomeClient {
  /// The time for a connection. Clients wait for 20 s and more.
  static let connectTime: Duration = .seconds(20)

  func carryOut(_ request: DeviceRequest) {
    switch request {
    case .subscribeConnections:
      wantsConnections = true
      let server = server
      Task(executorPreference: loop.tasks) {
        if let slots = await server.hub?.slots { await self.send(DeviceReport(slots)) }
      }
    case .device(let address, let action, let addressType):
      guard address >> 48 == 0 else { return refuse(address, action, .illegalParameter) }
      carryOut(action, at: BluetoothAddress(address, kind: addressType == 0 ? .public : .random))
    case .setParameters(let address, let minimum, let maximum, let latency, let timeout):
      let request = ProxiedDevice.Request.parameters(
        minimum: minimum, maximum: maximum, latency: latency, timeout: timeout)
      if !queue(request, at: address) {
        send(DeviceReport.parametersSet(address: address, error: ESPError.notConnected.rawValue))
      }
    }
  }

  private func carryOut(_ action: DeviceRequest.Action, at address: BluetoothAddress) {
    switch action {
    case .connectWithCache, .connectWithoutCache: connect(address)
    case .connectOld: refuse(address.value, action, .illegalParameter)
    case .disconnect: disconnect(address.value)
    case .pair:
      if !queue(.pair, at: address.value) { refuse(address.value, action, .notConnected) }
    case .unpair, .clearCache: forget(address, action)
    }
  }

  private func refuse(_ address: UInt64, _ action: DeviceRequest.Action, _ error: ESPError) {
    let code = error.rawValue
    switch action {
    case .pair: send(DeviceReport.paired(address: address, false, error: code))
    case .unpair: send(DeviceReport.unpaired(address: address, false, error: code))
    case .clearCache: send(DeviceReport.cacheCleared(address: address, false, error: code))
    case .connectOld, .connectWithCache, .connectWithoutCache, .disconnect:
      send(DeviceReport.connection(address: address, connected: false, mtu: 0, error: code))
    }
  }

  // MARK: Connecting

  private func connect(_ address: BluetoothAddress) {
    if let device = devices[address.value] {
      guard device.isConnected else { return }
      let use = device.use
      Task(executorPreference: loop.tasks) {
        guard case .connected(let mtu) = await use.device.state else { return }
        await self.send(
          DeviceReport.connection(address: address.value, connected: true, mtu: mtu, error: 0))
      }
      return
    }
    guard devices.count < Self.deviceLimit, let hub = server.here({ $0.hub }) else {
      return refuse(address.value, .connectWithCache, .noResources)
    }
    let opened = hub.here { hub -> Result<DeviceUse, GatewayError> in
      let slots = hub.slots
      guard slots.free > 0 || slots.allocated.contains(where: { $0.value == address.value })
      else { return .failure(.noFreeSlot(limit: slots.limit)) }
      do throws(GatewayError) {
        let device = try hub.device(at: address)
        return .success(device.here { $0.use(as: "esphome") })
      } catch {
        return .failure(error)
      }
    }
    switch opened {
    case .failure(let error):
      server.log(.info, "\(label): \(address.digits): \(error)")
      refuse(address.value, .connectWithCache, ESPError(connecting: error, last: nil))
    case .success(let use):
      let device = ProxiedDevice(address, use)
      devices[address.value] = device
      device.following = Task(executorPreference: loop.tasks) {
        await self.follow(use, at: address.value)
      }
    }
  }

  /// Waits for the link and passes on what happens, until the link ends.
  private func follow(_ use: DeviceUse, at address: UInt64) async {
    let mtu: Int
    do throws(GatewayError) {
      mtu = try await use.connected(within: Self.connectTime)
    } catch {
      guard !Task.isCancelled else { return }
      let last = await use.device.lastError
      server.log(.info, "\(label): \(await use.device.label): \(error)")
      return gone(use, at: address, ESPError(connecting: error, last: last))
    }
    guard !Task.isCancelled, let device = device(use, at: address) else { return }
    device.isConnected = true
    send(DeviceReport.connection(address: address, connected: true, mtu: mtu, error: 0))
    while let batch = await use.events.next(), !Task.isCancelled {
      if batch.missed > 0 {
        server.log(.warning, "\(label): \(batch.missed) values were lost: it reads too slowly")
      }
      for event in batch.elements {
        switch event {
        case .value(let handle, let octets):
          await room()
          pass(octets, of: handle.rawValue, use, at: address)
        case .disconnected(let reason):
          // A client takes the end of the link for a failure of what it waits for.
          await self.device(use, at: address)?.unpairing?.value
          return gone(use, at: address, ESPError(end: reason))
        case .connected, .databaseChanged: break
        }
      }
    }
    if !Task.isCancelled { gone(use, at: address, .endedHere) }
  }

  /// The device at this address, if it is still the one of this use.
  func device(_ use: DeviceUse, at address: UInt64) -> ProxiedDevice? {
    guard let device = devices[address], device.use === use else { return nil }
    return device
  }

  /// The link has ended, or was never made.
  private func gone(_ use: DeviceUse, at address: UInt64, _ error: ESPError) {
    guard let device = device(use, at: address) else { return }
    drop(device)
    refuse(address, .disconnect, error)
  }

  private func disconnect(_ address: UInt64) {
    guard let device = devices[address] else {
      return refuse(address, .disconnect, .nothingToCancel)
    }
    drop(device)
    refuse(address, .disconnect, .endedHere)
  }

  private func drop(_ device: ProxiedDevice) {
    devices[device.address.value] = nil
    requests -= device.waiting.count
    device.release()
  }

  // MARK: Bonds and caches

  /// Removes a bond, or what is known of the services. Needs no link.
  private func forget(_ address: BluetoothAddress, _ action: DeviceRequest.Action) {
    guard let hub = server.here({ $0.hub }) else { return }
    let device = devices[address.value]?.use.device ?? hub.here { try? $0.device(at: address) }
    guard let device else { return refuse(address.value, action, .noResources) }
    let use = devices[address.value]?.use ?? device.here { $0.use(as: "esphome") }
    requests += 1
    let task = Task(executorPreference: loop.tasks) { await self.forget(address, action, use) }
    if action == .unpair { devices[address.value]?.unpairing = task }
  }

  private func forget(
    _ address: BluetoothAddress, _ action: DeviceRequest.Action, _ use: DeviceUse
  ) async {
    var failure = ESPError.none
    do throws(GatewayError) {
      if action == .unpair { try await use.unpair() } else { await use.clearCache() }
    } catch {
      failure = ESPError(request: error)
    }
    if devices[address.value]?.use !== use { use.release() }
    let (done, code) = (failure == .none, failure.rawValue)
    if action == .unpair {
      send(DeviceReport.unpaired(address: address.value, done, error: code))
    } else {
      send(DeviceReport.cacheCleared(address: address.value, done, error: code))
    }
    devices[address.value]?.unpairing = nil
    requests -= 1
    carryOut()
  }
}
