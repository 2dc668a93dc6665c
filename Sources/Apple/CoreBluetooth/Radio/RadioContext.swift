internal import Atto
import Foundation

/// The state of one radio: there is one context for each ``CBRadio`` in use, shared by the managers
/// on it and released with the last of them.
///
/// It holds the links to peripherals (``SharedLink``), which managers share as apps share those of a
/// phone, and the GATT server in which all peripheral managers publish. Links to peripherals serve
/// it too: a bearer has both roles.
@RadioLoop final class RadioContext {
  private static var contexts: [CBRadio: WeakReference<RadioContext>] = [:]

  static func of(_ choice: CBRadio) -> RadioContext {
    if let context = contexts[choice]?.object { return context }
    contexts = contexts.filter { $0.value.object != nil }
    let context = RadioContext(choice)
    contexts[choice] = WeakReference(context)
    return context
  }

  /// The context of a radio in use.
  static func existing(_ choice: CBRadio) -> RadioContext? { contexts[choice]?.object }

  nonisolated static var kernelHasAdapters: Bool {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/sys/class/bluetooth")
    return names?.contains { $0.hasPrefix("hci") } ?? false
  }

  let choice: CBRadio
  let server = LocalServer(Database(), loop: RadioLoop.loop)
  private(set) var state: CBManagerState = .unknown
  private(set) var adapter: Adapter?
  private(set) var address = BluetoothAddress(0)
  /// Whether the adapter has an agent that refuses to pair.
  private var isRefusing = false
  private struct WeakObserver {
    weak var object: (any RadioObserver)?
  }
  private var observers: [ObjectIdentifier: WeakObserver] = [:]
  private var links: [BluetoothAddress: WeakReference<SharedLink>] = [:]
  let silentLinks = SilentLinks()
  private var opening: Task<Void, Never>?
  /// Accepts the connections of centrals and asks the managers that publish.
  private(set) lazy var host = PeripheralHost(self)

  private init(_ choice: CBRadio) { self.choice = choice }

  deinit { opening?.cancel() }

  /// Calls the observer with the state as soon as it is known, and with each change.
  func observe(_ observer: any RadioObserver) {
    observers[ObjectIdentifier(observer)] = WeakObserver(object: observer)
    if state != .unknown { observer.stateChanged(state) }
    guard opening == nil else { return }
    opening = Task { @RadioLoop [weak self, choice] in
      let opened = await RadioOpening.open(choice)
      guard let self, !Task.isCancelled else { return }
      await begin(opened)
    }
  }

  func forget(_ observer: any RadioObserver) { observers[ObjectIdentifier(observer)] = nil }

  private func begin(_ opened: RadioOpening.Result) async {
    switch opened {
    case .unusable(let state, let why):
      Warning.log(why)
      set(state)
    case .opened(let adapter):
      self.adapter = adapter
      address = adapter.address
      await applyPairing()
      await addBaseServices(name: adapter.name)
      let states = await adapter.states()
      set(Self.managerState(await adapter.state))
      Task { @RadioLoop [weak self] in
        for await state in states.dropFirst() { self?.set(Self.managerState(state)) }
      }
    }
  }

  /// Tells the adapter whether it may pair.
  func applyPairing() async {
    let agent: (any PairingAgent)? = choice.isPairable ? nil : RefusingAgent()
    guard agent != nil || isRefusing, let adapter else { return }
    isRefusing = agent != nil
    do throws(RadioError) {
      try await adapter.setAgent(agent)
    } catch {
      Warning.log("cannot set whether \(adapter.label) may pair: \(error)")
    }
  }

  private static func managerState(_ state: AdapterState) -> CBManagerState {
    switch state {
    case .poweredOn: .poweredOn
    case .poweredOff: .poweredOff
    case .gone: .unsupported
    }
  }

  /// Adds the Generic Access and Generic Attribute services, which every server has.
  private func addBaseServices(name: String) async {
    let shown = name.isEmpty ? ProcessInfo.processInfo.processName : name
    for service in [ServiceDefinition.genericAccess(name: shown), .genericAttribute()] {
      do {
        try await server.add(service)
      } catch {
        Warning.log("cannot add the service \(service.uuid): \(error)")
      }
    }
  }

  /// Sets the state. Tests call it too, in place of switching the radio on and off.
  func set(_ new: CBManagerState) {
    guard new != state else { return }
    state = new
    for observer in observers.values { observer.object?.stateChanged(new) }
    guard new != .poweredOn else { return }
    for link in links.values { link.object?.end(.disconnected(peer: "the radio")) }
    server.disconnect()
  }

  /// The link to a peer, which may not be connected yet.
  func link(to peer: BluetoothAddress) -> SharedLink {
    if let link = links[peer]?.object { return link }
    links = links.filter { $0.value.object != nil }
    let link = SharedLink(peer, on: self)
    links[peer] = WeakReference(link)
    return link
  }

  func identifier(of peer: BluetoothAddress) -> UUID {
    PeerIdentifier.make(peer: peer, adapter: address)
  }

  /// Reports a connection or disconnection to the managers that registered for them.
  func tellConnectionEvent(_ event: CBConnectionEvent, _ peer: BluetoothAddress) {
    for observer in observers.values { observer.object?.connectionEvent(event, peer) }
  }
}

@RadioLoop protocol RadioObserver: AnyObject {
  func stateChanged(_ state: CBManagerState)
  func connectionEvent(_ event: CBConnectionEvent, _ peer: BluetoothAddress)
}
