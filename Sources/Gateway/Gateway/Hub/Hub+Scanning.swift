import Atto
import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoStore

/// What is heard.
extension Hub {
  /// The advertisements of all adapters from now on, repeated ones too. For one consumer, until the
  /// sequence is released. Beyond ``heardLimit`` the oldest are dropped.
  package func heard() -> Batches<Heard> {
    lastListener += 1
    let id = lastListener
    let queue = BatchQueue<Heard>(limit: Self.heardLimit)
    let isFirst = listeners.isEmpty
    listeners[id] = queue
    for radio in radios.values {
      for heard in radio.present.values { queue.add(heard) }
    }
    if isFirst { restartScans() }
    return Batches(queue, on: loop) { [weak self] in
      guard let self else { return }
      self.loop.execute { self.here { $0.stopHearing(id) } }
    }
  }

  private func stopHearing(_ id: UInt64) {
    listeners[id] = nil
    if listeners.isEmpty { restartScans() }
  }

  /// Asks for scan responses or not, where the adapter can do without.
  package func setScanning(active: Bool) {
    guard active != scansActively else { return }
    scansActively = active
    restartScans()
  }

  /// What the scanners do now.
  package var scanner: ScannerState {
    let phases = radios.values.map(\.phase)
    let phase =
      phases.first { $0 == .running } ?? phases.first { $0 == .starting } ?? phases.first ?? .idle
    let isActive = scansActively || radios.values.contains(where: \.cannotScanPassively)
    return ScannerState(phase: phase, isActive: isActive)
  }

  /// The adapters, in the order of the configuration.
  package var adapters: [AdapterStatus] {
    configuration.adapters.compactMap { name in
      radios[name].map { radio in
        AdapterStatus(
          name: name, address: radio.adapter?.address ?? BluetoothAddress(0), phase: radio.phase,
          links: turns.granted.values.count { $0.adapterName == name },
          present: radio.present.count)
      }
    }
  }

  /// The address, with its kind, of a device on the air now that has these digits: `AA:BB:CC:DD:EE:FF`.
  package func address(heardAs digits: String) -> BluetoothAddress? {
    guard let value = BluetoothAddress(digits)?.value else { return nil }
    let heard = radios.values.lazy.flatMap(\.present.keys)
    return heard.first { $0.value == value }
  }

  /// The adapters that are open.
  var openAdapters: [Adapter] { radios.values.compactMap(\.adapter) }

  /// The devices on the air now, by address, each as the adapter heard it that receives it best.
  package var presentDevices: [Heard] {
    var best: [BluetoothAddress: Heard] = [:]
    for radio in radios.values {
      for (address, heard) in radio.present {
        guard let other = best[address], other.discovery.rank >= heard.discovery.rank else {
          best[address] = heard
          continue
        }
      }
    }
    return best.sorted { $0.key.value < $1.key.value }.map(\.value)
  }

  func restartScans() {
    for radio in radios.values { radio.scan?.cancel() }
  }

  /// Scans until the adapter fails, or is switched off.
  func scan(_ radio: Radio, _ adapter: Adapter) async throws(RadioError) {
    // An adapter that is switched off lets its scans wait. A new one fails.
    let name = radio.name
    let switchedOff = Task(executorPreference: loop.tasks) { [weak self] in
      for await state in await adapter.states() where state == .poweredOff {
        self?.here { $0.radios[name]?.scan?.cancel() }
      }
    }
    defer { switchedOff.cancel() }
    while !Task.isCancelled {
      var options = ScanOptions()
      options.isActive = scansActively || radio.cannotScanPassively
      options.reportsDuplicates = !listeners.isEmpty
      options.timing = radio.cannotTimeScans ? nil : configuration.advertisements.timing
      let events = adapter.scan(options)
      radio.phase = .running
      // A new scan reports everything that is there, and nothing that went before it began.
      radio.present = [:]
      reconsider()
      let scan = Task(executorPreference: loop.tasks) { () -> RadioError? in
        do throws(RadioError) {
          for try await event in events { self.here { $0.receive(event, name) } }
          return nil
        } catch {
          return error
        }
      }
      radio.scan = scan
      let failure = await withTaskCancellationHandler {
        await scan.value
      } onCancel: {
        scan.cancel()
      }
      radio.scan = nil
      guard let failure else { continue }
      if failure.isRefusal(of: [.setDefaultConfiguration]) {
        log(.notice, "adapter \(name): \(failure): it listens as the kernel has it")
        radio.cannotTimeScans = true
      } else if !options.isActive,
        failure.isRefusal(of: [.addPatternsMonitor, .readMonitorFeatures])
      {
        log(.notice, "adapter \(name): \(failure): it scans actively")
        radio.cannotScanPassively = true
      } else {
        throw failure
      }
    }
  }

  private func receive(_ event: ScanEvent, _ name: AdapterName) {
    guard let radio = radios[name] else { return }
    switch event {
    case .found(let discovery): receive(discovery, radio, isNew: true)
    case .seen(let discovery): receive(discovery, radio, isNew: false)
    case .gone(let address):
      radio.present[address] = nil
      for device in Array(named.values) + [addressed[address]].compactMap({ $0 }) {
        device.here { $0.stoppedAdvertising(address, name) }
      }
    case .missed: break
    }
  }

  private func receive(_ discovery: Discovery, _ radio: Radio, isNew: Bool) {
    let heard = Heard(discovery: discovery, adapter: radio.name, time: loop.now)
    let address = discovery.address
    if radio.present.count >= Radio.presentLimit, radio.present[address] == nil {
      radio.present = [:]
    }
    // A scan that was started again finds everything again.
    let isNew = isNew && radio.present.updateValue(heard, forKey: address) == nil
    if !isNew { radio.present[address] = heard }
    for queue in listeners.values { queue.add(heard) }
    for device in named.values { identify(device, heard) }
    addressed[address]?.here { ($0.rssi, $0.lastHeard) = (discovery.strength, heard) }
    guard discovery.isConnectable, !turns.waiting.isEmpty else { return }
    if isNew { appeared(address) }
    reconsider()
  }

  /// Gives a device the address and the signal strength of an advertisement, if it is its own.
  func identify(_ device: Device, _ heard: Heard) {
    let discovery = heard.discovery
    device.here { device in
      if let address = device.address, address.value == discovery.address.value {
        (device.rssi, device.lastHeard) = (discovery.strength, heard)
        return
      }
      guard let match = device.configuration?.match, match.address == nil,
        device.connection == nil, match.matches(discovery, onAir: heard.adapter == .air),
        // A device with private addresses has replaced the one that was heard last.
        device.address.map({ !isPresent($0) || !PeerName.isStable($0) }) ?? true
      else { return }
      device.address = discovery.address
      (device.rssi, device.lastHeard) = (discovery.strength, heard)
    }
  }

  private nonisolated func isPresent(_ address: BluetoothAddress) -> Bool {
    assumeIsolated { $0.radios.values.contains { $0.heard(address) != nil } }
  }
}

extension RadioError {
  /// Whether the kernel or the controller cannot do one of these, or not at present.
  fileprivate func isRefusal(of opcodes: [ManagementOpcode]) -> Bool {
    guard case .management(let opcode, let status, _) = self, status != .permissionDenied else {
      return false
    }
    return opcodes.contains(opcode)
  }
}

extension Hub {
  /// Sets the parameters of the present link, if the adapter can, and of those to come. The kernel replaces
  /// all parameters by those that are loaded, so all are.
  func setParameters(
    _ new: PreferredConnectionParameters, of address: BluetoothAddress
  ) async throws(GatewayError) {
    guard parameters.count < configuration.limits.devices || parameters[address] != nil else {
      throw .tooManyDevices(limit: configuration.limits.devices)
    }
    parameters[address] = new
    for radio in openAdapters {
      do throws(RadioError) {
        try await radio.loadConnectionParameters(parameters)
        _ = await radio.updateConnection(with: address, new)
      } catch {
        throw .device(.radio(error))
      }
    }
  }
}
