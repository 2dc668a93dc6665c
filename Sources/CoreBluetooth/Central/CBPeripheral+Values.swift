internal import Atto
import Foundation

extension CBPeripheral {
  /// Reads a value, to its end.
  public func readValue(for characteristic: CBCharacteristic) {
    guard let found = mine(characteristic) else { return }
    perform { (connection, _) async throws(AttoError) -> [UInt8] in
      try await connection.readLong(found.valueHandle)
    } _: { peripheral, result in
      if case .success(let value) = result {
        characteristic.state.withLock { $0.value = Data(value) }
      }
      peripheral.delegate?.peripheral(
        peripheral, didUpdateValueFor: characteristic, error: result.error)
    }
  }

  /// Writes a value. With a response it may have up to 512 octets: what does not fit into one
  /// request is prepared in parts, and executed as a whole. Without, up to ATT_MTU - 3; what is
  /// longer, or cannot be written so, is dropped with a word to the developer.
  public func writeValue(
    _ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType
  ) {
    guard let found = mine(characteristic) else { return }
    guard type == .withResponse else { return writeCommand(data, characteristic, found) }
    let value = Array(data)
    perform { (connection, _) async throws(AttoError) in
      try await Self.write(found.valueHandle, value, connection)
    } _: { peripheral, result in
      peripheral.delegate?.peripheral(
        peripheral, didWriteValueFor: characteristic, error: result.error)
    }
  }

  @RadioLoop static func write(
    _ handle: AttributeHandle, _ value: [UInt8], _ connection: Connection
  ) async throws(AttoError) {
    guard value.count <= 512 else { throw .misuse(.valueTooLong(value.count, limit: 512)) }
    if value.count <= connection.mtuNow - 3 {
      try await connection.write(handle, value)
    } else {
      try await connection.writeLong(handle, value)
    }
  }

  private func writeCommand(
    _ data: Data, _ characteristic: CBCharacteristic, _ found: Characteristic
  ) {
    guard found.properties.contains(.writeWithoutResponse) else {
      return Misuse.log(
        "WARNING: Characteristic \(characteristic) does not specify the \"Write Without Response\""
          + " property - ignoring response-less write")
    }
    enum Fate { case sent, notConnected, tooLong(Int), full(Int) }
    let fate: Fate = shown.withLock { shown in
      guard shown.state == .connected else { return .notConnected }
      guard data.count <= shown.commandLimit else { return .tooLong(shown.commandLimit) }
      guard shown.commands < Self.commandHardLimit else {
        shown.droppedCommands += 1
        return .full(shown.droppedCommands)
      }
      shown.commands += 1
      if shown.commands >= Self.commandLimit { shown.wantsRoom = true }
      return .sent
    }
    switch fate {
    case .sent:
      let remote = remote
      RadioLoop.later { remote.command(found.valueHandle, data) }
    case .notConnected:
      Misuse.log("API MISUSE: \(self) can only accept commands while in the connected state")
    case .tooLong(let limit):
      Misuse.log(
        "a write without response of \(data.count) octets was dropped: \(limit) is the limit here,"
          + " see maximumWriteValueLength(for: .withoutResponse)")
    case .full(let count):
      // Once for each power of two, so that a loop that never looks cannot flood the log.
      if count & (count - 1) == 0 {
        Misuse.log(
          "\(count) writes without response were dropped: ask canSendWriteWithoutResponse, and go"
            + " on in peripheralIsReady(toSendWriteWithoutResponse:)")
      }
    }
  }

  /// Subscribes to a value, by notification if it offers that and by indication otherwise, or
  /// ends the subscription.
  public func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    guard let found = mine(characteristic) else { return }
    let kept = KeptSubscription(found, in: characteristic.service)
    perform { (connection, remote) async throws(AttoError) in
      if enabled { remote.keepValues(of: found.valueHandle) }
      try await Self.subscribe(enabled, found, connection, remote)
      remote.wish(found.valueHandle, enabled)
      if let kept { remote.note(kept, enabled) }
    } _: { peripheral, result in
      if case .success = result {
        characteristic.state.withLock { $0.isNotifying = enabled }
        if !enabled { peripheral.finishListeners(found.valueHandle) }
      }
      peripheral.delegate?.peripheral(
        peripheral, didUpdateNotificationStateFor: characteristic, error: result.error)
    }
  }

  @RadioLoop static func subscribe(
    _ enabled: Bool, _ found: Characteristic, _ connection: Connection, _ remote: RemotePeripheral
  ) async throws(AttoError) {
    let value: [UInt8]
    if found.properties.contains(.notify) {
      value = [1, 0]
    } else if found.properties.contains(.indicate) {
      value = [2, 0]
    } else {
      throw .refused(
        ErrorResponse(
          request: .writeRequest, handle: found.valueHandle, code: .requestNotSupported))
    }
    // Nobody else of this process shall lose what one of it does not want any more.
    if !enabled, remote.link?.unsubscribe(remote, found.valueHandle) == false { return }
    if enabled { remote.link?.subscribe(remote, found.valueHandle) }
    do throws(AttoError) {
      guard let range = found.descriptorRange,
        let configuration = try await connection.perform(DiscoverDescriptors(in: range))
          .first(where: { $0.uuid == .clientCharacteristicConfiguration })
      else { throw .misuse(.cannotSubscribe(found.valueHandle)) }
      try await connection.write(configuration.handle, enabled ? value : [0, 0])
    } catch {
      // As the peer has it still.
      if enabled {
        remote.link?.unsubscribe(remote, found.valueHandle)
      } else {
        remote.link?.subscribe(remote, found.valueHandle)
      }
      throw error
    }
  }

  /// Reads a descriptor, to its end.
  public func readValue(for descriptor: CBDescriptor) {
    guard let handle = mine(descriptor) else { return }
    perform { (connection, _) async throws(AttoError) -> [UInt8] in
      try await connection.readLong(handle)
    } _: { peripheral, result in
      if case .success(let value) = result {
        descriptor.state.withLock { $0.octets = Data(value) }
      }
      peripheral.delegate?.peripheral(
        peripheral, didUpdateValueFor: descriptor, error: result.error)
    }
  }

  /// Writes a descriptor. Traps for a Client Characteristic Configuration, where Apple's raises
  /// an exception: that is what ``setNotifyValue(_:for:)`` is for.
  public func writeValue(_ data: Data, for descriptor: CBDescriptor) {
    precondition(
      descriptor.uuid.bluetooth != .clientCharacteristicConfiguration,
      "Client Characteristic Configuration descriptors must be configured using"
        + " setNotifyValue(_:for:)")
    guard let handle = mine(descriptor) else { return }
    let value = Array(data)
    perform { (connection, _) async throws(AttoError) in
      try await Self.write(handle, value, connection)
    } _: { peripheral, result in
      peripheral.delegate?.peripheral(
        peripheral, didWriteValueFor: descriptor, error: result.error)
    }
  }

  /// Asks for the strength of the connection's signal in dBm; 127 where it is not to be had. On
  /// the virtual air it is what the last scan told.
  public func readRSSI() {
    let identifier = identifier
    perform { (_, remote) async throws(AttoError) -> Int in
      try await remote.readRSSI() ?? KnownPeers.rssi(of: identifier) ?? 127
    } _: { peripheral, result in
      var strength = NSNumber(value: 127)
      if case .success(let value) = result { strength = NSNumber(value: value) }
      peripheral.shown.withLock { $0.rssi = strength }
      peripheral.delegate?.peripheral(
        peripheral, didReadRSSI: strength, error: result.error)
    }
  }
}

extension CBPeripheral {
  /// Opens a channel at a PSM that the peer has published. If the peer wants the link to be
  /// encrypted for that, it is, and the two pair if they have not.
  public func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
    perform { (_, remote) async throws(AttoError) -> Channel in
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
  /// What the kernel measures; nil on the air.
  fileprivate func readRSSI() async throws(AttoError) -> Int? {
    guard let kernel = link?.adapter as? KernelAdapter else { return nil }
    do throws(RadioError) {
      return try await kernel.connectionInformation(of: address).rssi.map(Int.init)
    } catch {
      throw .radio(error)
    }
  }
}
