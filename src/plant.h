/* SPDX-License-Identifier: MIT
 *
 * plant.h - bugs that are planted on purpose, to prove that the proving ground
 * finds them.
 *
 * HF_PLANTED(NAME) is the constant 0, and the compiler forgets what depends on
 * it, unless HF_PLANT_NAME was defined as 1 for the file: only builds of
 * proof/plants do that, one bug each.  The list is proof/plants/plants. */
#ifndef HF_PLANT_H
#define HF_PLANT_H

/* HF_PLANT_NAME becomes 1 or stays a name; only HF_PLANT_SHIFT_1 has a comma,
 * which moves the 1 to where the answer is taken from. */
#define HF_PLANTED(name)                      HF_PLANT_LOOK(HF_PLANT_##name)
#define HF_PLANT_LOOK(what)                   HF_PLANT_LOOK_2(what)
#define HF_PLANT_LOOK_2(what)                 HF_PLANT_SECOND(HF_PLANT_SHIFT_##what 1, 0, 0)
#define HF_PLANT_SHIFT_1                      0,
#define HF_PLANT_SECOND(...)                  HF_PLANT_SECOND_2(__VA_ARGS__)
#define HF_PLANT_SECOND_2(first, second, ...) second

#endif
