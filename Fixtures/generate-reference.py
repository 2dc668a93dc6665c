#!/usr/bin/env python3
"""Prints reference-820.json, the database that discovery is measured against.

20 services of 10 characteristics, each with its value, a CCCD and a user description: 820
attributes, all with 16-bit UUIDs, from 0x0001 to 0x0334 without a gap.

    python3 generate-reference.py > reference-820.json
"""

SERVICES = 20
CHARACTERISTICS = 10


def characteristic(service: int, index: int) -> str:
    number = service * CHARACTERISTICS + index
    return (
        f'        {{"uuid": "{0xB000 + number:04X}", "properties": ["read", "write", "notify"],\n'
        f'          "value": "hex:{number:04x}", "descriptors": [\n'
        f'            {{"uuid": "2901", "value": "text:Characteristic {number}"}}]}}'
    )


def service(number: int) -> str:
    characteristics = ",\n".join(characteristic(number, i) for i in range(CHARACTERISTICS))
    return (
        f'    {{"uuid": "{0xA000 + number:04X}",\n'
        f'      "characteristics": [\n{characteristics}\n      ]}}'
    )


services = ",\n".join(service(number) for number in range(SERVICES))
print('{"name": "Reference 820", "automatic": false,\n  "services": [\n' + services + "\n  ]}")
