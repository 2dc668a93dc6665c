import Atto
import AttoLinks
import AttoRadio

extension BTPService {
  private static let classic = BTPCommandSupport.Support.none("BR/EDR")
  private static let connecting = BTPCommandSupport.Support.partly(
    "one LE credit-based channel, or 1 to 5 enhanced ones at PSM 0x0027 (EATT); the radio chooses the"
      + " MTU of the former and returns credits")
  private static let listening = BTPCommandSupport.Support.partly(
    "LE only; accepts channels, or refuses them for insufficient encryption")

  /// auto-pts, doc/btp_l2cap.txt.
  static let l2capCommands = [
    BTPCommandSupport(0x01, "Read Supported Commands"),
    BTPCommandSupport(0x02, "Connect", connecting),
    BTPCommandSupport(0x03, "Disconnect"),
    BTPCommandSupport(0x04, "Send Data"),
    BTPCommandSupport(0x05, "Listen", listening),
    BTPCommandSupport(
      0x06, "Accept Connection Request", .none("channels are accepted without a request")),
    BTPCommandSupport(
      0x07, "Reconfigure Request",
      .partly(
        "raises the MTU of enhanced channels, which is never reduced; the kernel keeps the MPS")
    ),
    BTPCommandSupport(0x08, "Credits", .none("the kernel returns credits")),
    BTPCommandSupport(0x0A, "ECHO Request", classic),
    BTPCommandSupport(0x0B, "Connect V2", connecting),
    BTPCommandSupport(0x0C, "Listen V2", listening),
    BTPCommandSupport(0x0D, "Send Connectionless Data", classic),
  ]
}

/// The channels of the L2CAP service.
struct BTPL2CAPState {
  /// A channel, by its Chan_ID, or an attempt to open one.
  enum Entry {
    case opening(Task<Void, Never>)
    case open(BTPChannel)
    case enhanced(BTPEnhancedChannel)
  }

  var channels: [UInt8: Entry] = [:]
  var published: [UInt16: (PublishedChannel, Task<Void, Never>)] = [:]

  var freeID: UInt8? { (0...UInt8.max).first { channels[$0] == nil } }
}

extension BTPTester {
  private static let patience: Duration = .seconds(30)
  /// The MTU that the kernel's sockets of channels are given, which the protocol wants told.
  private static let ownMTU: UInt16 = 8192

  /// The L2CAP service.
  func handleL2CAP(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) async throws(BTPStatus) -> [UInt8]? {
    switch command.opcode {
    case 0x02, 0x0B:
      let address = try parameters.address()
      let psm = try parameters.number(UInt16.self)
      let mtu = try parameters.number(UInt16.self)
      let count = try parameters.number(UInt8.self)
      // The options; before them, in the second version, the mode.
      let options = try parameters.octets(command.opcode == 0x0B ? 5 : 1)
      try parameters.end()
      // Bit 0 of the options, which follow the mode in the second version.
      var rest = options
      rest[command.opcode == 0x0B ? 1 : 0] &= ~1
      if options != rest, rest.allSatisfy({ $0 == 0 }) {
        return try connectEnhanced(count, psm: psm, mtu: mtu, to: address)
      }
      guard count == 1, options.allSatisfy({ $0 == 0 }), (1...0xFF).contains(psm) else {
        throw .fail
      }
      return [1, try connectChannel(psm, to: address)]
    case 0x03:
      let id = try parameters.number(UInt8.self)
      try parameters.end()
      switch l2cap.channels[id] {
      case .opening(let attempt): attempt.cancel()
      case .open(let channel): channel.close()
      case .enhanced(let channel): channel.link.close()
      case nil: throw .fail
      }
    case 0x04:
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
    case 0x05, 0x0C: try await listen(command, &parameters)
    case 0x07:
      try reconfigure(command, &parameters)
      return nil
    default: throw .unknownCommand
    }
    return []
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

  private func listen(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) async throws(BTPStatus) {
    let psm = try parameters.number(UInt16.self)
    let isLE = try parameters.flag()
    _ = try parameters.number(UInt16.self)
    let options = command.opcode == 0x0C ? 5 : 0
    // Security_Type and Key_Size, which the document has and testers leave out.
    if parameters.count == 4 + options { _ = try parameters.octets(2) }
    let response = try parameters.number(UInt16.self)
    guard try parameters.octets(options).allSatisfy({ $0 == 0 }) else { throw .fail }
    try parameters.end()
    guard isLE, (1...0xFF).contains(psm), response == 0 || response == 4 else { throw .fail }
    let published: PublishedChannel
    do throws(RadioError) {
      published = try await adapter.publishChannel(psm: psm, requiresEncryption: response == 4)
    } catch {
      note("PSM \(psm)", error)
      throw .fail
    }
    let task = start {
      for await channel in published.channels { await self.accepted(channel) }
    }
    l2cap.published[psm] = (published, task)
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
    for entry in l2cap.channels.values {
      switch entry {
      case .opening(let attempt): attempt.cancel()
      case .open(let channel): channel.close()
      case .enhanced(let channel): channel.link.close()
      }
    }
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
