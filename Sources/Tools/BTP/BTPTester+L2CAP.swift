import Atto
import AttoLinks
import AttoRadio

extension BTPService {
  private static let connecting =
    "one LE credit-based channel, or 1 to 5 enhanced ones at PSM 0x0027 (EATT); the radio chooses the"
    + " MTU of the former and returns credits"
  private static let listening =
    "LE only; accepts channels, or refuses them for insufficient encryption"

  /// auto-pts, doc/btp_l2cap.txt.
  static let l2capCommands = [
    l2cap.readSupportedCommands,
    BTPServiceCommand(0x02, "Connect", except: connecting) {
      try $0.connectChannels(&$2, optionsAt: 0)
    },
    BTPServiceCommand(0x03, "Disconnect") { try $0.disconnectChannel(&$2) },
    BTPServiceCommand(0x04, "Send Data") { try $0.sendData($1, &$2) },
    BTPServiceCommand(0x05, "Listen", except: listening) {
      try await $0.listen(&$2, options: 0)
    },
    BTPServiceCommand(
      0x06, "Accept Connection Request", missing: "channels are accepted without a request"),
    BTPServiceCommand(
      0x07, "Reconfigure Request",
      except: "raises the MTU of enhanced channels, which is never reduced; the kernel keeps the"
        + " MPS"
    ) {
      try $0.reconfigure($1, &$2)
    },
    BTPServiceCommand(0x08, "Credits", missing: "the kernel returns credits"),
    BTPServiceCommand(0x0A, "ECHO Request", missing: "BR/EDR"),
    // After the mode.
    BTPServiceCommand(0x0B, "Connect V2", except: connecting) {
      try $0.connectChannels(&$2, optionsAt: 1)
    },
    BTPServiceCommand(0x0C, "Listen V2", except: listening) {
      try await $0.listen(&$2, options: 5)
    },
    BTPServiceCommand(0x0D, "Send Connectionless Data", missing: "BR/EDR"),
  ]
}

/// The channels of the L2CAP service.
struct BTPL2CAPState {
  /// A channel, by its Chan_ID, or an attempt to open one.
  enum Entry {
    case opening(Task<Void, Never>)
    case open(BTPChannel)
    case enhanced(BTPEnhancedChannel)

    func end() {
      switch self {
      case .opening(let attempt): attempt.cancel()
      case .open(let channel): channel.close()
      case .enhanced(let channel): channel.link.close()
      }
    }
  }

  var channels: [UInt8: Entry] = [:]
  var published: [UInt16: (PublishedChannel, Task<Void, Never>)] = [:]

  var freeID: UInt8? { (0...UInt8.max).first { channels[$0] == nil } }
}

extension BTPTester {
  private static let patience: Duration = .seconds(30)
  /// The MTU that the kernel's sockets of channels are given, which the protocol wants told.
  private static let ownMTU: UInt16 = 8192

  /// - Parameter index: the place of the options in the octets at the end: 0, or, in the second version
  ///   of the command, 1 of 5.
  fileprivate func connectChannels(
    _ parameters: inout BTPParameters, optionsAt index: Int
  ) throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    let psm = try parameters.number(UInt16.self)
    let mtu = try parameters.number(UInt16.self)
    let count = try parameters.number(UInt8.self)
    let options = try parameters.octets(index == 0 ? 1 : 5)
    try parameters.end()
    var rest = options
    rest[index] &= ~1
    if options != rest, rest.allSatisfy({ $0 == 0 }) {
      return try connectEnhanced(count, psm: psm, mtu: mtu, to: address)
    }
    guard count == 1, options.allSatisfy({ $0 == 0 }), (1...0xFF).contains(psm) else {
      throw .fail
    }
    return [1, try connectChannel(psm, to: address)]
  }

  fileprivate func disconnectChannel(
    _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    let id = try parameters.number(UInt8.self)
    try parameters.end()
    guard let entry = l2cap.channels[id] else { throw .fail }
    entry.end()
    return []
  }

  fileprivate func sendData(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8]? {
    let entry = l2cap.channels[try parameters.number()]
    let data = try parameters.value()
    try parameters.end()
    switch entry {
    case .open(let channel):
      later(command) {
        try await channel.send(data)
        return []
      }
    case .enhanced(let channel):
      later(command) {
        try await channel.link.send(data)
        return []
      }
    case .opening, nil: throw .fail
    }
    return nil
  }

  // MARK: Opening

  private func connectChannel(
    _ psm: UInt16, to address: BluetoothAddress
  ) throws(BTPStatus) -> UInt8 {
    let address = try peer(address).address
    guard let id = l2cap.freeID else { throw .fail }
    let adapter = adapter
    l2cap.channels[id] = .opening(
      start {
        do {
          let channel = try await adapter.openChannel(psm, to: address, timeout: Self.patience)
          await self.opened(channel, id)
        } catch {
          await self.note("channel at PSM \(psm)", error)
          await self.closed(id, psm, address, result: error.channelResult)
        }
      })
    return id
  }

  /// - Parameter options: their number, in the second version of the command.
  fileprivate func listen(
    _ parameters: inout BTPParameters, options: Int
  ) async throws -> [UInt8] {
    let psm = try parameters.number(UInt16.self)
    let isLE = try parameters.flag()
    _ = try parameters.number(UInt16.self)
    // Security_Type and Key_Size, which the document has and testers leave out.
    if parameters.count == 4 + options { _ = try parameters.octets(2) }
    let response = try parameters.number(UInt16.self)
    let isPlain = try parameters.octets(options).allSatisfy { $0 == 0 }
    try parameters.end()
    guard isPlain, isLE, (1...0xFF).contains(psm), response == 0 || response == 4 else {
      throw BTPStatus.fail
    }
    let published = try await adapter.publishChannel(psm: psm, requiresEncryption: response == 4)
    let task = start {
      for await channel in published.channels { await self.accepted(channel) }
    }
    l2cap.published[psm] = (published, task)
    return []
  }

  private func accepted(_ channel: Channel) {
    guard let id = l2cap.freeID else { return channel.close() }
    opened(channel, id)
  }

  private func opened(_ channel: Channel, _ id: UInt8) {
    let (psm, address) = (channel.psm, channel.peer)
    let entry = BTPChannel(channel)
    l2cap.channels[id] = .open(entry)
    let unknown = UInt16(0)
    send(
      0x81, of: .l2cap,
      [id] + psm.octets(2) + UInt16(clamping: channel.sendLimit).octets(2) + unknown.octets(2)
        + Self.ownMTU.octets(2) + unknown.octets(2) + address.btp)
    start {
      while let data = await entry.receive() {
        await self.send(0x83, of: .l2cap, [id] + data.btpValue)
        await self.room()
      }
      await self.closed(id, psm, address, result: 0)
    }
  }

  func closed(_ id: UInt8, _ psm: UInt16, _ address: BluetoothAddress, result: UInt16) {
    l2cap.channels[id] = nil
    send(0x82, of: .l2cap, result.octets(2) + [id] + psm.octets(2) + address.btp)
  }

  func endL2CAP() {
    for (published, task) in l2cap.published.values {
      published.stop()
      task.cancel()
    }
    l2cap.published = [:]
    for entry in l2cap.channels.values { entry.end() }
  }
}

extension Error {
  /// The nearest result of L2CAP_LE_CREDIT_BASED_CONNECTION_RSP. Vol 3, Part A, 4.23.
  var channelResult: UInt16 {
    let cause: (any Error)? =
      if case .radio(let error)? = self as? AttoError { error } else { self }
    guard case .channelRefused(_, _, let refusal)? = cause as? RadioError,
      refusal != .unspecified
    else {
      return UInt16(ChannelRefusal.unknownPSM.rawValue)
    }
    return UInt16(refusal.rawValue)
  }
}
