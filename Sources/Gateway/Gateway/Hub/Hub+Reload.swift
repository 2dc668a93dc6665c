import Atto
import AttoEventLoop

/// Another configuration.
extension Hub {
  /// Does what another configuration says. Links of devices that did not change stay, as do adapters.
  package func reload(_ new: Configuration) async {
    let old = configuration
    configuration = new
    if new.scansActively != old.scansActively { setScanning(active: new.scansActively) }
    if new.advertisements.timing != old.advertisements.timing { restartScans() }
    for name in old.adapters where !new.adapters.contains(name) {
      let radio = radios.removeValue(forKey: name)
      radio?.task?.cancel()
    }
    for name in new.adapters where radios[name] == nil { keep(name) }
    for device in old.devices where !new.devices.contains(where: { $0.name == device.name }) {
      named.removeValue(forKey: device.name)?.here { $0.end() }
      sharing.removeValue(forKey: device.name)?.cancel()
    }
    for device in new.devices { change(device) }
    if new.endpoints != old.endpoints || new.endpointsGroup != old.endpointsGroup
      || new.limits.clients != old.limits.clients
    {
      for (name, device) in named { share(device, named: name) }
    }
    reconsider()
    slotsChanged()
    // Whether there are passkeys decides how devices pair.
    for adapter in openAdapters { try? await adapter.setAgent(GatewayAgent(self)) }
  }

  private func change(_ new: DeviceConfiguration) {
    guard let device = named[new.name], let old = device.here({ $0.configuration }),
      old.match == new.match
    else {
      // Another device: the users of the former one lose it.
      named.removeValue(forKey: new.name)?.here { $0.end() }
      add(new)
      return
    }
    device.here { device in
      device.configuration = new
      if new.security > old.security { device.connection?.close() }
      device.wantChanged()
    }
  }
}
