import Atto
import AttoCommandLine
import AttoLinks
import AttoRadio

extension Endpoint {
  package var isAir: Bool { if case .air = self { true } else { false } }
  /// Whether this is a peer of the kernel's radio.
  package var isRadio: Bool { if case .le = self { true } else { false } }
}

/// The adapter of a command: the one that it names, else the kernel's if it is powered on, else one
/// on the virtual air.
package enum Radios {
  /// For the help of commands that call ``endpoint(_:on:)``.
  package static let details =
    "Without an endpoint, the command uses le: if the kernel has an adapter that is powered on, else"
    + " the virtual air (air:)."

  package static func endpoint(_ word: String?, on loop: Loop) async throws -> Endpoint {
    if let word { return try Endpoint(argument: word) }
    return await standard(on: loop)
  }

  /// Reads the name of an adapter, hciN.
  package static func index(_ word: String) throws(UsageError) -> UInt16 {
    guard let index = L2CAPSource.index(ofAdapter: word) else {
      throw UsageError("invalid adapter \"\(word)\": expected hciN, such as hci0")
    }
    return index
  }

  private static func standard(on loop: Loop) async -> Endpoint {
    // A kernel without Bluetooth is not an error here.
    let list = (try? await KernelAdapters(loop: loop).list()) ?? []
    let powered = list.first { $0.settings.isSuperset(of: [.powered, .le]) }
    if let powered { return .leAny(.adapter(powered.index)) }
    Terminal.note("using the virtual air (air:): no Bluetooth adapter is powered on")
    return .air("")
  }

  /// Opens an adapter, and switches it on if necessary.
  package static func open(_ endpoint: Endpoint, on loop: Loop) async throws -> Adapter {
    switch endpoint {
    case .air(let name, nil):
      return try Adapter.virtual(try PeerTarget(virtual: name), loop: loop)
    case .air:
      throw UsageError("\(EndpointError(text: endpoint.description, .timingOfListener))")
    case .leAny(let source):
      let adapter = try await Adapter.kernel(source, loop: loop)
      if await adapter.state != .poweredOn {
        try await adapter.powerOn()
        Terminal.note("powered on \(adapter.label)")
      }
      return adapter
    default:
      throw UsageError("invalid radio \"\(endpoint)\": expected air:, le: or le:@hciN")
    }
  }
}

extension AdvertisingParameters {
  /// Warns if the advertised name is shortened, since a scan for the complete name would fail.
  package func noteShortenedName(_ command: String) {
    guard case .fields(let data) = content, let name = data.localName, !data.nameIsShortened,
      let laidOut = try? LegacyAdvertisement(data, isConnectable: isConnectable),
      let short = laidOut.shortenedName
    else { return }
    Terminal.note(
      "atto \(command): warning: the name \(Shown.name(name)) (\(name.utf8.count) octets) does not fit"
        + " into the advertisement: advertising the Shortened Local Name \(Shown.name(short))")
  }
}

extension ArgumentDescription {
  /// The adapter of a command that scans or advertises.
  package static let radio = ArgumentDescription(
    name: "RADIO", summary: "The virtual air (air:) or an adapter of the kernel (le:, le:@hciN).",
    kind: .radio)
}
