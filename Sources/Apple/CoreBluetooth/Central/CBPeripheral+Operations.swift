internal import Atto
import AttoGATT
import AttoRadio
import Foundation

/// Whether the peer answers a write.
public enum CBCharacteristicWriteType: Int, Sendable {
  case withResponse = 0
  case withoutResponse = 1
}

extension CBPeripheral {
  /// Reads a value of any length.
  public func readValue(for characteristic: CBCharacteristic) {
    guard let found = mine(characteristic) else { return }
    perform { (connection, remote) async throws(AttoError) -> [UInt8] in
      try await remote.performLast(ReadLongValue(found.valueHandle), on: connection)
    } _: { peripheral, result in
      if case .success(let value) = result {
        characteristic.state.withLock { $0.value = Data(value) }
      }
      peripheral.delegate?.peripheral(
        peripheral, didUpdateValueFor: characteristic, error: result.error)
    }
  }

  /// Writes a value. With response, up to 512 octets: a value that does not fit into one request is
  /// written with prepared writes, all or nothing. Without response, up to ATT_MTU - 3 octets: a value
  /// that is longer, or a characteristic without that property, logs a warning and sends nothing.
  public func writeValue(
    _ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType
  ) {
    guard let found = mine(characteristic) else { return }
    guard type == .withResponse else { return writeCommand(data, characteristic, found) }
    let value = Array(data)
    perform { (connection, remote) async throws(AttoError) in
      try await Self.write(found.valueHandle, value, connection, remote)
    } _: { peripheral, result in
      peripheral.delegate?.peripheral(
        peripheral, didWriteValueFor: characteristic, error: result.error)
    }
  }

  @RadioLoop static func write(
    _ handle: AttributeHandle, _ value: [UInt8], _ connection: Connection,
    _ remote: RemotePeripheral
  ) async throws(AttoError) {
    guard value.count <= 512 else { throw .misuse(.valueTooLong(value.count, limit: 512)) }
    if value.count <= connection.mtuNow - 3 {
      try await remote.performLast(WriteValue(handle, value: value), on: connection)
    } else {
      try await connection.writeLong(value, to: handle)
    }
  }

  private func writeCommand(
    _ data: Data, _ characteristic: CBCharacteristic, _ found: Characteristic
  ) {
    guard found.properties.contains(.writeWithoutResponse) else {
      return Warning.log(
        "WARNING: Characteristic \(characteristic) does not specify the \"Write Without Response\""
          + " property - ignoring response-less write")
    }
    enum Outcome { case sent(isLast: Bool), notConnected, tooLong(Int), full(Int) }
    let outcome: Outcome = shown.withLock { shown in
      guard shown.state == .connected else { return .notConnected }
      guard data.count <= shown.commandLength else { return .tooLong(shown.commandLength) }
      guard shown.commands < Self.commandHardLimit else {
        shown.droppedCommands += 1
        return .full(shown.droppedCommands)
      }
      shown.commands += 1
      if shown.commands >= Self.commandLimit { shown.isWaitingForRoom = true }
      return .sent(isLast: shown.commands == Self.commandLimit)
    }
    switch outcome {
    case .sent(let isLast):
      if isLast { observers.check() }
      RadioLoop.later { [remote] in remote.command(found.valueHandle, data) }
    case .notConnected: warnNotConnected()
    case .tooLong(let limit):
      Warning.log(
        "dropped a write without response of \(data.count) octets: the limit is \(limit), see"
          + " maximumWriteValueLength(for: .withoutResponse)")
    case .full(let count):
      // Logs each power of two, so that an endless loop does not flood the log.
      if count & (count - 1) == 0 {
        Warning.log(
          "dropped \(count) writes without response: check canSendWriteWithoutResponse, and continue"
            + " in peripheralIsReady(toSendWriteWithoutResponse:)")
      }
    }
  }

  /// Subscribes to a value or ends the subscription. Uses notifications if the characteristic supports
  /// them, else indications.
  public func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    guard let found = mine(characteristic) else { return }
    perform { (connection, remote) async throws(AttoError) in
      if enabled { remote.bufferValues(of: found.valueHandle) }
      try await Self.subscribe(enabled, found, connection, remote)
      remote.setSubscribedByApp(found.valueHandle, enabled)
      remote.note(found.valueHandle, enabled)
      // An app that was killed after its callback is subscribed when it is restored.
      await remote.manager.saved()
    } _: { peripheral, result in
      if case .success = result {
        characteristic.state.withLock { $0.isNotifying = enabled }
        if !enabled { peripheral.finishListeners(found.valueHandle) }
      }
      peripheral.delegate?.peripheral(
        peripheral, didUpdateNotificationStateFor: characteristic, error: result.error)
    }
  }

  /// Other managers of this process keep their subscriptions.
  @RadioLoop static func subscribe(
    _ enabled: Bool, _ found: Characteristic, _ connection: Connection, _ remote: RemotePeripheral
  ) async throws(AttoError) {
    let kind: ClientCharacteristicConfiguration
    if found.properties.contains(.notify) {
      kind = .notification
    } else if found.properties.contains(.indicate) {
      kind = .indication
    } else {
      throw .refused(
        ErrorResponse(
          request: .writeRequest, handle: found.valueHandle, code: .requestNotSupported))
    }
    guard let range = found.descriptorRange,
      let configuration = try await connection.perform(DiscoverDescriptors(in: range))
        .first(where: { $0.uuid == .clientCharacteristicConfiguration })
    else { throw .misuse(.cannotSubscribe(found.valueHandle)) }
    // A link that has ended has no subscriptions.
    guard let link = remote.link, link.connection === connection else { throw .closed }
    let user = ObjectIdentifier(remote)
    // The only manager has the peer told anyway: a bonded peer may remember something else.
    let isAlone = link.subscriptions.users(of: found.valueHandle).keys
      .allSatisfy { $0 == user }
    try await link.subscriptions.set(
      enabled ? kind : [], of: found.valueHandle, at: configuration.handle, for: user,
      isRepeated: isAlone
    ) { [weak remote] (connection, wanted, handle) async throws(AttoError) in
      try await remote?.performLast(WriteValue(handle, value: wanted.octets), on: connection)
    }
  }

  /// Reads a descriptor of any length.
  public func readValue(for descriptor: CBDescriptor) {
    guard let handle = mine(descriptor) else { return }
    perform { (connection, remote) async throws(AttoError) -> [UInt8] in
      try await remote.performLast(ReadLongValue(handle), on: connection)
    } _: { peripheral, result in
      if case .success(let value) = result {
        descriptor.state.withLock { $0.octets = Data(value) }
      }
      peripheral.delegate?.peripheral(
        peripheral, didUpdateValueFor: descriptor, error: result.error)
    }
  }

  /// Writes a descriptor. Traps for a Client Characteristic Configuration, where Apple's framework
  /// raises an exception: use ``setNotifyValue(_:for:)``.
  public func writeValue(_ data: Data, for descriptor: CBDescriptor) {
    precondition(
      descriptor.uuid.bluetooth != .clientCharacteristicConfiguration,
      "Client Characteristic Configuration descriptors must be configured using"
        + " setNotifyValue(_:for:)")
    guard let handle = mine(descriptor) else { return }
    let value = Array(data)
    perform { (connection, remote) async throws(AttoError) in
      try await Self.write(handle, value, connection, remote)
    } _: { peripheral, result in
      peripheral.delegate?.peripheral(
        peripheral, didWriteValueFor: descriptor, error: result.error)
    }
  }

  /// Reads the signal strength of the connection in dBm; 127 if it is not known. On the virtual air,
  /// it is the one that the last scan reported.
  public func readRSSI() {
    perform { [identifier] (_, remote) async throws(AttoError) -> Int in
      remote.commandsMayFollow()
      return try await remote.readRSSI() ?? KnownPeers.rssi(of: identifier) ?? 127
    } _: { peripheral, result in
      var strength = NSNumber(value: 127)
      if case .success(let value) = result { strength = NSNumber(value: value) }
      peripheral.shown.withLock { $0.rssi = strength }
      peripheral.observers.check()
      peripheral.delegate?.peripheral(
        peripheral, didReadRSSI: strength, error: result.error)
    }
  }

  /// Opens a channel at a PSM that the peer has published. If the peer requires encryption, the link
  /// is encrypted, with pairing if there is no bond.
  public func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
    perform { (_, remote) async throws(AttoError) -> Channel in
      remote.commandsMayFollow()
      guard let adapter = remote.link?.adapter else {
        throw .disconnected(peer: "\(remote.address)")
      }
      do throws(RadioError) {
        return try await adapter.openChannel(PSM, to: remote.address, timeout: .seconds(30))
      } catch {
        throw .radio(error)
      }
    } _: { peripheral, result in
      switch result {
      case .success(let channel):
        peripheral.delegate?.peripheral(
          peripheral, didOpen: CBL2CAPChannel(peer: peripheral, channel), error: nil)
      case .failure(let error):
        peripheral.delegate?.peripheral(peripheral, didOpen: nil, error: error)
      }
    }
  }
}

extension RemotePeripheral {
  /// The signal strength that the kernel measures; nil on the virtual air.
  fileprivate func readRSSI() async throws(AttoError) -> Int? {
    guard let adapter = link?.adapter else { return nil }
    do throws(RadioError) {
      return try await adapter.connectionInformation(of: address)?.rssi.map(Int.init)
    } catch {
      throw .radio(error)
    }
  }
}
