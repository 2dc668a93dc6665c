import Atto

extension Endpoint {
  /// Whether it is on the virtual air.
  var isAir: Bool { if case .air = self { true } else { false } }
}

/// Which radio a command uses: the one that is named, else the kernel's if there is one that is
/// powered, else the virtual air.
enum Radios {
  static let notes =
    "Without an endpoint it is le: if the kernel has an adapter that is powered, else air:."

  /// The radio that a word names, which must name no peer, or the one that is used without.
  static func endpoint(_ word: String?, on loop: Loop) async throws -> Endpoint {
    guard let word else { return await standard(on: loop) }
    do throws(EndpointError) {
      return try Endpoint(word == "air" || word == "le" ? word + ":" : word)
    } catch {
      throw UsageError(error.description)
    }
  }

  private static func standard(on loop: Loop) async -> Endpoint {
    // A kernel without Bluetooth is no reason to complain here.
    let list = (try? await KernelAdapters(loop: loop).list()) ?? []
    let powered = list.first { $0.settings.isSuperset(of: [.powered, .le]) }
    return powered.map { .leAny(.adapter($0.index)) } ?? .air("")
  }

  /// Opens a radio, and switches it on if need be.
  static func open(_ endpoint: Endpoint, on loop: Loop) async throws -> any Adapter {
    switch endpoint {
    case .air(let text):
      switch try AirEndpoint(text) {
      case .own: return try AirAdapter(loop: loop)
      case .name(let name): return try AirAdapter(name: name, loop: loop)
      case .address(let address): return try AirAdapter(address: address, loop: loop)
      }
    case .leAny(let source):
      let adapter = try await KernelAdapter.open(source, loop: loop)
      if await adapter.state != .poweredOn {
        try await adapter.powerOn()
        Terminal.note("hci\(adapter.index) was off and is on now")
      }
      return adapter
    default: throw UsageError("a radio is wanted, air: or le: or le:@hciN, not \"\(endpoint)\"")
    }
  }
}
