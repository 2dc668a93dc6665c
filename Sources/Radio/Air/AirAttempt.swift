import ATT
import CLinux
import EventLoop
import Glibc
import Links

/// A central's attempt to connect on the virtual air. The loop's thread only.
///
///     looking --a radio that fits is on the air and connectable--> dialling --channel--> done
///        ^                                                            |
///        '---- hung up, or not advertising any more: a pause ---------'
///
/// The file of the wanted radio is looked at first; only if it is not there the air is observed.
/// Any refusal but «nobody advertises here», a violation, or an answer that does not come in
/// ``handshakeTime`` ends the attempt. `completion` is called once.
final class AirAttempt {
  enum Target {
    case address(BluetoothAddress)
    case name(String)
  }

  /// Who connects.
  struct Origin {
    var address: BluetoothAddress
    var name: String
    var maximum: LinkSecurity
    /// How the link is to be timed; nil: as fast as it goes.
    var timing: AirTiming?
    var pairings: AirPairings
    var channels: AirChannels
  }

  /// How long a radio may take to answer a hello.
  static let handshakeTime: Duration = .seconds(5)
  /// Before a radio is tried again that hung up or whose queue was full.
  private static let pause: Duration = .milliseconds(50)
  /// Radios that an error lists.
  private static let bystanderLimit = 16

  private let target: Target
  private let origin: Origin
  private let folder: AirFolder
  private let loop: Loop
  private let timeout: Duration?
  private var completion: ((Result<ConnectedLink, RadioError>) -> Void)?
  private var observer: AirObserver?
  private var isListing = false
  private var dialled: (address: BluetoothAddress, name: String, control: AirControlSocket)?
  private var deadline: OneTimer?
  private var timer: OneTimer?

  init(
    _ target: Target, from origin: Origin, in folder: AirFolder, on loop: Loop, timeout: Duration?,
    _ completion: @escaping (Result<ConnectedLink, RadioError>) -> Void
  ) {
    self.target = target
    self.origin = origin
    self.folder = folder
    self.loop = loop
    self.timeout = timeout
    self.completion = completion
  }

  func start() {
    if let timeout {
      deadline = OneTimer(after: timeout, on: loop) { [unowned self] in ranOut() }
    }
    look()
  }

  /// Gives up with an error; does nothing if the attempt has ended.
  func end(_ error: RadioError) { finish(.failure(error)) }

  private func finish(_ result: Result<ConnectedLink, RadioError>) {
    guard let completion else { return }
    self.completion = nil
    deadline?.cancel()
    timer?.cancel()
    observer?.end()
    dialled?.control.close()
    completion(result)
  }

  // MARK: Looking

  private func look() {
    let address =
      switch target {
      case .address(let address): address
      case .name(let name): BluetoothAddress.staticRandom(name: name)
      }
    if let record = AirRecord.read(address, in: folder), record.isConnectable {
      dial(address, record)
    } else {
      observe()
    }
  }

  private func observe() {
    guard observer == nil else { return consider() }
    let observer = AirObserver(folder, on: loop) { [unowned self] change in
      if case .failed(let error) = change { return end(error) }
      if !isListing { consider() }
    }
    self.observer = observer
    isListing = true
    do { try observer.start() } catch { return end(error) }
    isListing = false
    consider()
  }

  /// Dials if the one who is wanted is on the air.
  private func consider() {
    guard completion != nil, dialled == nil, timer == nil, let observer else { return }
    let fitting = fitting(observer.records)
    if fitting.count > 1, case .name(let name) = target {
      return end(.ambiguous(name, Self.bystanders(fitting)))
    }
    if let (address, record) = fitting.first, record.isConnectable { dial(address, record) }
  }

  /// Those who may be meant: by name or address one at most, else by their local name.
  private func fitting(
    _ records: [BluetoothAddress: AirRecord]
  ) -> [BluetoothAddress: AirRecord] {
    switch target {
    case .address(let address): return records.filter { $0.key == address }
    case .name(let name):
      let own = BluetoothAddress.staticRandom(name: name)
      if let record = records[own] { return [own: record] }
      let named = records.filter { $0.value.name == name }
      return named.isEmpty ? records.filter { $0.value.localName == name } : named
    }
  }

  // MARK: Dialling

  private func dial(_ address: BluetoothAddress, _ record: AirRecord) {
    let socket = clinux_seqpacket_socket(AF_UNIX, 0)
    guard socket >= 0 else { return end(.system("connect to \(address.digits)", errno: -socket)) }
    let path = folder.entry(address, .socket)
    let result = clinux_unix_connect(socket, path, path.utf8.count)
    guard result == 0 else {
      _ = close(socket)
      switch -result {
      case EAGAIN: return rest()
      // It died, or has just gone: whoever observes sweeps, and learns of the next.
      case ENOENT, ECONNREFUSED: return observer == nil ? observe() : rest()
      default: return end(.system("connect to \(address.digits)", errno: -result))
      }
    }
    do {
      let control = try AirControlSocket(socket, on: loop, takesChannel: true)
      dialled = (address, record.name.isEmpty ? record.localName ?? "" : record.name, control)
      guard control.send(.hello(address: origin.address, name: origin.name)) else { return rest() }
      timer = OneTimer(after: Self.handshakeTime, on: loop) { [unowned self] in
        end(.timedOut(address, after: Self.handshakeTime))
      }
      control.hand { [unowned self] input in take(input) }
    } catch {
      end(error)
    }
  }

  private func take(_ input: AirControlSocket.Input) {
    guard let (address, name, control) = dialled else { return }
    switch input {
    case .channel(let descriptor):
      dialled = nil
      let link = AirLink(
        data: OwnedDescriptor(owning: descriptor), control: control, peer: address, name: name,
        maximum: origin.maximum, isCentral: true, pairings: origin.pairings, on: loop, onEnd: {})
      origin.channels.add(link)
      if let timing = origin.timing { link.setTiming(timing) }
      finish(
        .success(
          ConnectedLink(link, peer: address, identity: name, isCentral: true, loop: loop)))
    case .control(.reject(.failedToBeEstablished)), .hangup: rest()
    case .control(.reject(let reason)): end(.refused(address, reason))
    case .offer(_, _, let descriptor):
      _ = close(descriptor)
      end(.protocolViolation(address))
    case .control, .violation: end(.protocolViolation(address))
    }
  }

  /// Tries again a little later: something was there that changes without anybody's telling.
  private func rest() {
    dialled?.control.close()
    dialled = nil
    timer?.cancel()
    timer = OneTimer(after: Self.pause, on: loop) { [unowned self] in
      timer = nil
      if observer == nil { look() } else { consider() }
    }
  }

  // MARK: The end of patience

  private func ranOut() {
    guard let timeout else { return }
    if let dialled { return end(.timedOut(dialled.address, after: timeout)) }
    let records = observer?.records ?? [:]
    if let (address, record) = fitting(records).first, !record.isConnectable {
      return end(.notConnectable(address))
    }
    let who =
      switch target {
      case .address(let address): address.digits
      case .name(let name): "\"\(name)\""
      }
    end(.notFound(who, after: timeout, onAir: Self.bystanders(records)))
  }

  private static func bystanders(
    _ records: [BluetoothAddress: AirRecord]
  ) -> [RadioError.Bystander] {
    records.sorted { $0.key.value < $1.key.value }.prefix(bystanderLimit).map { address, record in
      let name = record.name.isEmpty ? record.localName ?? "" : record.name
      return .init(address: address, name: name, isConnectable: record.isConnectable)
    }
  }
}

extension AirRecord {
  /// The local name that is in the air.
  var localName: String? {
    AdvertisingData(advertisement: advertisement, scanResponse: scanResponse).localName
  }
}
