import AttoATT
import AttoGATT

extension BluetoothUUID {
  /// As it stands in a declaration.
  var littleEndianOctets: [UInt8] { encoded(mtu: 16) { $0.append(self) } }
}

extension AttributeHandle {
  var littleEndianOctets: [UInt8] {
    [UInt8(truncatingIfNeeded: rawValue), UInt8(truncatingIfNeeded: rawValue >> 8)]
  }
}

extension ModelServer {
  /// Serves what discovery should find: declarations, values of one octet, and descriptors.
  init(_ database: RemoteDatabase) {
    var attributes: [Attribute] = []
    for service in database.services {
      attributes.append(
        Attribute(
          handle: service.handle, type: service.isPrimary ? .primaryService : .secondaryService,
          value: service.uuid.littleEndianOctets, groupEnd: service.endGroupHandle))
      for include in service.includes {
        let range =
          include.startHandle.littleEndianOctets + include.endGroupHandle.littleEndianOctets
        attributes.append(
          Attribute(
            handle: include.handle, type: .include,
            value: range + (include.uuid.short == nil ? [] : include.uuid.littleEndianOctets)))
      }
      for characteristic in service.characteristics {
        attributes.append(
          Attribute(
            handle: characteristic.declarationHandle, type: .characteristic,
            value: [characteristic.properties.rawValue]
              + characteristic.valueHandle.littleEndianOctets
              + characteristic.uuid.littleEndianOctets))
        attributes.append(
          Attribute(handle: characteristic.valueHandle, type: characteristic.uuid, value: [0]))
        for descriptor in characteristic.descriptors {
          attributes.append(
            Attribute(handle: descriptor.handle, type: descriptor.uuid, value: [0]))
        }
      }
    }
    if let hash = database.databaseHash,
      let index = attributes.firstIndex(where: { $0.type == .databaseHash })
    {
      attributes[index].value = hash
    }
    self.init(attributes)
  }
}

extension RemoteDatabase {
  /// Services with characteristics that each have a declaration, a value, a CCCD and a user
  /// description, from handle 0x0001 on without a gap, all with 16-bit UUIDs.
  static func regular(services: Int, characteristics: Int) -> RemoteDatabase {
    var next: UInt16 = 1
    func take() -> AttributeHandle {
      defer { next += 1 }
      return AttributeHandle(next)
    }
    return RemoteDatabase(
      services: (0..<services).map { service in
        let handle = take()
        let list = (0..<characteristics).map { index in
          let declaration = take()
          let value = take()
          let descriptors = [
            Descriptor(handle: take(), uuid: .clientCharacteristicConfiguration),
            Descriptor(handle: take(), uuid: .characteristicUserDescription),
          ]
          return Characteristic(
            declarationHandle: declaration, valueHandle: value,
            endGroupHandle: descriptors[1].handle,
            properties: [.read, .notify], uuid: BluetoothUUID(0x2B00 + UInt16(index)),
            descriptors: descriptors)
        }
        return Service(
          handle: handle, endGroupHandle: AttributeHandle(next - 1),
          uuid: BluetoothUUID(0x1900 + UInt16(service)), characteristics: list)
      })
  }

  /// A database as unlike the last one as the rules of GATT allow: gaps everywhere, UUIDs of both
  /// widths mixed and repeated, secondary and empty services, includes in all directions, and now
  /// and then services that reach 0xFFFF.
  static func random(using random: inout SplitMix64) -> RemoteDatabase {
    let uuids = (0..<6).map { index in
      index < 3
        ? BluetoothUUID(UInt16(0x2A40 + index))
        : BluetoothUUID(high: random.next(), low: random.next())
    }
    let descriptorTypes: [BluetoothUUID] =
      [
        .clientCharacteristicConfiguration, .characteristicUserDescription,
        .characteristicPresentationFormat, .characteristicExtendedProperties,
      ] + uuids
    func gap(_ random: inout SplitMix64) -> Int {
      random.chance(0.7) ? 0 : random.chance(0.9) ? random.number(1...4) : random.number(5...900)
    }

    var services: [Service] = []
    var next = 1 + gap(&random)
    let count = random.number(0...10)
    for index in 0..<count {
      let isLast = index == count - 1
      if isLast, random.chance(0.1) { next = 0xFFFF }  // an empty service at the very end
      let handle = AttributeHandle(UInt16(next))
      var last = next
      var includes: [IncludedService] = []
      var characteristics: [Characteristic] = []
      if next < 0xF000 {
        for _ in 0..<(random.chance(0.6) ? 0 : random.number(1...3)) {
          last += 1 + (random.chance(0.8) ? 0 : random.number(1...3))
          // Which service it names is decided when all are known.
          includes.append(
            IncludedService(
              handle: AttributeHandle(UInt16(last)), startHandle: 1, endGroupHandle: 1,
              uuid: 0x0000))
        }
        for _ in 0..<(random.chance(0.15) ? 0 : random.number(1...6)) {
          let declaration = last + 1 + gap(&random)
          let value = declaration + (random.chance(0.95) ? 1 : 2)
          last = value
          var descriptors: [Descriptor] = []
          for _ in 0..<(random.chance(0.4) ? 0 : random.number(1...5)) {
            last += 1 + (random.chance(0.85) ? 0 : random.number(1...3))
            descriptors.append(
              Descriptor(
                handle: AttributeHandle(UInt16(last)),
                uuid: descriptorTypes.randomElement(using: &random)!))
          }
          characteristics.append(
            Characteristic(
              declarationHandle: AttributeHandle(UInt16(declaration)),
              valueHandle: AttributeHandle(UInt16(value)),
              endGroupHandle: AttributeHandle(UInt16(last)),
              properties: CharacteristicProperties(rawValue: UInt8(random.number(0...255))),
              uuid: uuids.randomElement(using: &random)!, descriptors: descriptors))
        }
      }
      let end = isLast && random.chance(0.3) ? 0xFFFF : last + (random.chance(0.7) ? 0 : 2)
      services.append(
        Service(
          handle: handle, endGroupHandle: AttributeHandle(UInt16(min(end, 0xFFFF))),
          uuid: uuids.randomElement(using: &random)!, isPrimary: random.chance(0.8),
          includes: includes, characteristics: characteristics))
      next = end + 1 + gap(&random)
    }
    return RemoteDatabase(
      services: services.map { service in
        Service(
          handle: service.handle, endGroupHandle: service.endGroupHandle, uuid: service.uuid,
          isPrimary: service.isPrimary,
          includes: service.includes.map { include in
            let target = services.randomElement(using: &random)!
            return IncludedService(
              handle: include.handle, startHandle: target.handle,
              endGroupHandle: target.endGroupHandle, uuid: target.uuid)
          },
          characteristics: service.characteristicsToTheirEnds)
      })
  }
}

extension Service {
  /// The characteristics, each reaching to the next declaration or the end of the service.
  fileprivate var characteristicsToTheirEnds: [Characteristic] {
    characteristics.indices.map { index in
      let one = characteristics[index]
      let end =
        index + 1 < characteristics.count
        ? characteristics[index + 1].declarationHandle.previous! : endGroupHandle
      return Characteristic(
        declarationHandle: one.declarationHandle, valueHandle: one.valueHandle, endGroupHandle: end,
        properties: one.properties, uuid: one.uuid, descriptors: one.descriptors)
    }
  }
}
