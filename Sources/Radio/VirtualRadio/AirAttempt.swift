import AttoATT
import CAttoLinux
import AttoEventLoop
import Glibc
import AttoLinks
import AttoRadio

/// An attempt of a central to connect on the virtual air. The loop's thread only.
///
///     searching --a connectable radio that matches--> dialling --link--> done
///        ^                                               |
///        '--- hung up, or no longer advertising: pause --'
///
/// The file of the radio is read first. Only if it is missing is the air observed. A refusal, except
/// that the radio does not advertise, a violation of the protocol, and an answer that takes longer
/// than ``handshakeTime`` end the attempt. The completion is called once.
final class AirAttempt {
  /// The time in which a radio must answer a hello.
  static let handshakeTime: Duration = .seconds(5)
  /// Time before a radio is tried again that hung up or whose queue was full.
  private static let pause: Duration = .milliseconds(50)
  /// Radios that an error lists at most.
  private static let bystanderLimit = 16

  private let target: PeerTarget
  private let radio: AirBackend
  private let timing: AirTiming?
  private let timeout: Duration?
  private var completion: RadioCompletion<AirLink>?
  private var observer: AirObserver?
  private var isListing = false
  private var dialled: (address: BluetoothAddress, name: String, control: AirControlSocket)?
  private var deadline: LoopTimer?
  private var timer: LoopTimer?

  /// - Parameter timing: the timing of the link; nil: it is as fast as its socket.
  init(
    _ target: PeerTarget, from radio: AirBackend, timing: AirTiming?, timeout: Duration?,
    _ completion: @escaping RadioCompletion<AirLink>
  ) {
    self.target = target
    self.radio = radio
    self.timing = timing
    self.timeout = timeout
    self.completion = completion
  }

  private var folder: AirFolder { radio.folder }
  private var loop: Loop { radio.loop }

  func start() {
    if let timeout {
      deadline = LoopTimer(after: timeout, on: loop) { [unowned self] in expired() }
    }
    search()
  }

  func end(_ error: RadioError) { finish(.failure(error)) }

  private func finish(_ result: Result<AirLink, RadioError>) {
    guard let completion else { return }
    self.completion = nil
    deadline?.cancel()
    timer?.cancel()
    observer?.end()
    dialled?.control.close()
    completion(result)
  }

  // MARK: Searching

  /// The address of the target, unless it is the radio's local name.
  private var likelyAddress: BluetoothAddress {
    switch target {
    case .address(let address): address
    case .name(let name): .staticRandom(name: name)
    }
  }

  private func search() {
    let address = likelyAddress
    if address != radio.address, let record = AirRecord.read(address, in: folder),
      record.isConnectable
    {
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

  /// Dials if the radio is on the air.
  private func consider() {
    guard completion != nil, dialled == nil, timer == nil else { return }
    let matching = matching(heard)
    if matching.count > 1, case .name(let name) = target {
      return end(.ambiguous(name, Self.bystanders(matching)))
    }
    if let (address, record) = matching.first, record.isConnectable { dial(address, record) }
  }

  /// The radios on the air except this one, which does not hear itself.
  private var heard: [BluetoothAddress: AirRecord] {
    (observer?.records ?? [:]).filter { $0.key != radio.address }
  }

  /// The radios that match the target: at most one by its name or address, else those with the local
  /// name.
  private func matching(
    _ records: [BluetoothAddress: AirRecord]
  ) -> [BluetoothAddress: AirRecord] {
    if let record = records[likelyAddress] { return [likelyAddress: record] }
    switch target {
    case .address: return [:]
    case .name(let name):
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
      // It has died or closed. The observer sweeps, and reports the next radio.
      case ENOENT, ECONNREFUSED: return observer == nil ? observe() : rest()
      default: return end(.system("connect to \(address.digits)", errno: -result))
      }
    }
    if let user = AirFolder.stranger(at: socket) {
      _ = close(socket)
      return end(.system("connect to \(address.digits), a radio of user \(user)", errno: EPERM))
    }
    do {
      let control = try AirControlSocket(socket, on: loop, takesChannel: true)
      dialled = (address, record.label, control)
      guard control.send(.hello(address: radio.address, name: radio.name)) else { return rest() }
      timer = LoopTimer(after: Self.handshakeTime, on: loop) { [unowned self] in
        end(.timedOut(address, after: Self.handshakeTime))
      }
      control.setHandler { [unowned self] input in receive(input) }
    } catch {
      end(error)
    }
  }

  private func receive(_ input: AirControlSocket.Input) {
    guard let (address, name, control) = dialled else { return }
    switch input {
    case .channel(let descriptor):
      dialled = nil
      let link = AirLink(
        data: OwnedDescriptor(owning: descriptor), control: control, peer: address, name: name,
        isCentral: true, radio: radio)
      if let timing { link.setTiming(timing) }
      finish(.success(link))
    case .control(.reject(.failedToBeEstablished)), .hangup: rest()
    case .control(.reject(let reason)): end(.refused(address, reason))
    case .offer(_, _, let descriptor), .bearer(_, _, _, let descriptor):
      _ = close(descriptor)
      end(.protocolViolation(address))
    case .control, .violation: end(.protocolViolation(address))
    }
  }

  /// Tries again a little later: nothing reports when the radio can be reached.
  private func rest() {
    dialled?.control.close()
    dialled = nil
    timer?.cancel()
    timer = LoopTimer(after: Self.pause, on: loop) { [unowned self] in
      timer = nil
      if observer == nil { search() } else { consider() }
    }
  }

  // MARK: Timeout

  private func expired() {
    guard let timeout else { return }
    if let dialled { return end(.timedOut(dialled.address, after: timeout)) }
    var records = heard
    // A radio whose file was read, and whose queue was full since, is not observed.
    if observer == nil, likelyAddress != radio.address {
      records[likelyAddress] = AirRecord.read(likelyAddress, in: folder)
    }
    if let (address, record) = matching(records).first {
      return end(
        record.isConnectable ? .timedOut(address, after: timeout) : .notConnectable(address))
    }
    let label =
      switch target {
      case .address(let address): address.digits
      case .name(let name): "\"\(name)\""
      }
    end(.notFound(label, after: timeout, onAir: Self.bystanders(records)))
  }

  private static func bystanders(
    _ records: [BluetoothAddress: AirRecord]
  ) -> [RadioError.Bystander] {
    records.sorted { $0.key.value < $1.key.value }.prefix(bystanderLimit).map { address, record in
      .init(address: address, name: record.label, isConnectable: record.isConnectable)
    }
  }
}

extension AirRecord {
  var localName: String? {
    AdvertisingData(advertisement: advertisement, scanResponse: scanResponse).localName
  }

  /// The name of the radio, or else the local name; empty without both.
  fileprivate var label: String { name.isEmpty ? localName ?? "" : name }
}
