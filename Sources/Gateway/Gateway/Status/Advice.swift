import Atto
import AttoRadio

/// When a device was heard last.
package struct Hearing: Equatable, Sendable {
  /// The time since then; 0 while the device is on the air.
  package var age: Duration
  package var adapter: AdapterName

  var words: String {
    age == .zero ? "now, \(adapter)" : "\(GatewayStatus.words(age)) ago, \(adapter)"
  }
}

/// Why a device has no link, and what to do.
extension Hub {
  /// Below this strength, in dBm, links fail often.
  static let weakSignal = -90

  func hearing(of device: Device) -> Hearing? {
    guard let heard = device.here({ $0.lastHeard }) else { return nil }
    // An adapter reports changes. A device that advertises without a change is on the air all the same.
    let isPresent = radios[heard.adapter]?.present[heard.discovery.address] != nil
    return Hearing(
      age: isPresent ? .zero : .nanoseconds(max(1, loop.now - heard.time)), adapter: heard.adapter)
  }

  /// What to do about a device that has no link; nil if it has one, or no user wants one.
  func advice(for device: Device, _ hearing: Hearing?) -> String? {
    let (isWanted, state, heard, match, error) = device.here {
      ($0.isWanted, $0.state, $0.lastHeard?.discovery, $0.configuration?.match, $0.lastError)
    }
    if case .connected = state { return nil }
    guard isWanted else { return nil }
    guard radios.values.contains(where: { $0.phase == .running }) else {
      return "no adapter scans: see the state of the adapters"
    }
    guard let heard, let hearing else {
      return "never heard: switch it on, bring it nearer, and disconnect it from other hosts"
        + (match?.address == nil ? ", or correct \"match\"" : "")
    }
    // On the virtual air all addresses are random ones.
    if let address = match?.address, address.kind != heard.address.kind, hearing.adapter != .air {
      return "its address is of another kind: write \"address\": \"\(heard.address)\""
    }
    if hearing.age > .zero {
      return "does not advertise: it is off, out of range, or connected to another host"
    }
    if !heard.isConnectable {
      return "advertises but accepts no connections: it may be connected to another host, "
        + "or wait for a button"
    }
    if slots.free == 0 {
      return "all \(slots.limit) connections are in use: raise \"connections\" in \"limits\""
    }
    if let error, error.isAboutPairing {
      return
        "pairing fails: set \"passkey\" or \"askPasskeys\", or remove the old bond on the device"
    }
    if let strength = heard.strength, strength < Self.weakSignal {
      return "the signal is weak (\(strength) dBm): move the device or the adapter"
    }
    return error == nil ? nil : "the gateway will try again"
  }
}

extension AttoError {
  fileprivate var isAboutPairing: Bool {
    switch self {
    case .pairing, .insufficientSecurity, .securityTimeout, .radio(.pairing): true
    default: false
    }
  }
}
